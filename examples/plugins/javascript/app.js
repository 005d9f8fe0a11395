// Tells agents of a Node project: its scripts and which manager runs them.
//
// It reads package.json, contributes what it found as `.Plugins.node`, and adds
// a section to the prompt. A project without a package.json is left alone.

import { readText } from "./files.js";
import { answers } from "./answering.js";
import { write } from "samuel:plugin/log@1.0.0";
import { contribute } from "samuel:plugin/plugins@1.0.0";

/** The point this plugin handles, by the name of its interface. */
export const contextExtra = {
  run: answers((call, input, previous) => {
    const text = readText("package.json");
    if (text === null) {
      write("debug", "no package.json");
      return { extras: [], extensions: [] };
    }
    const project = describe(JSON.parse(text));
    for (const [key, value] of Object.entries(project)) {
      contribute(key, JSON.stringify(value));
    }
    return { extras: [section(project)], extensions: [] };
  }),
};

/** Picks what an agent should know of a package.json. */
function describe(pkg) {
  return {
    Name: pkg.name ?? "",
    PackageManager: (pkg.packageManager ?? "npm").split("@")[0],
    Engine: pkg.engines?.node ?? "",
    Scripts: Object.keys(pkg.scripts ?? {}).sort(),
  };
}

/** Makes the section of the prompt. */
function section(project) {
  const lines = [`- Install with \`${project.PackageManager} install\`.`];
  if (project.Engine) {
    lines.push(`- Node ${project.Engine}`);
  }
  for (const script of project.Scripts) {
    lines.push(`- \`${project.PackageManager} run ${script}\``);
  }
  return { name: "Node", content: lines.join("\n"), path: null };
}
