//! The methods by which builders take handlers, and what handlers are told.

/// Writes the methods by which a builder takes handlers: `hook`, `hook_at`, `register`, `binary` and `session`.
///
/// The builder has the fields `handlers: RegistryBuilder`, `binary: String` and `session: Option<String>`. If they are
/// fields of a part of the builder, the part is named, as in `handler_methods!(run.)`. Callers need no trait in scope.
#[macro_export]
macro_rules! handler_methods {
    ($($within:ident .)*) => {
        /// Registers a handler as `api:<name>`, after the plugins'.
        #[must_use]
        pub fn hook<P: $crate::Point, M>(
            mut self,
            name: &str,
            handler: impl $crate::IntoHandler<P, M>,
        ) -> Self {
            self.$($within.)*handlers.api(name, None, handler);
            self
        }

        /// Registers a handler as `api:<name>` at an order; 100 replaces the
        /// default.
        #[must_use]
        pub fn hook_at<P: $crate::Point, M>(
            mut self,
            name: &str,
            order: i32,
            handler: impl $crate::IntoHandler<P, M>,
        ) -> Self {
            self.$($within.)*handlers.api(name, Some(order), handler);
            self
        }

        /// Registers the handlers of a plugin, or of several.
        #[must_use]
        pub fn register(mut self, register: impl FnOnce(&mut $crate::RegistryBuilder)) -> Self {
            register(&mut self.$($within.)*handlers);
            self
        }

        /// Gives the command by which agents call Samuel, such as a full path; by
        /// default `samuel`.
        #[must_use]
        pub fn binary(mut self, binary: impl Into<String>) -> Self {
            self.$($within.)*binary = binary.into();
            self
        }

        /// Names the session; by default it has the project's name.
        #[must_use]
        pub fn session(mut self, name: impl Into<String>) -> Self {
            self.$($within.)*session = Some(name.into());
            self
        }
    };
}
