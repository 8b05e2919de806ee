//! One command and its expected output.

/// A row of a table. Texts may contain masks, see `pattern`, and `$NAME` for saved texts; `$ns` is
/// the namespace of the session.
#[derive(Debug, Default)]
pub(crate) struct Step {
    /// After `kubectl`; words in single quotes stay together.
    pub(crate) command: &'static str,
    pub(crate) files: Vec<(&'static str, &'static str)>,
    pub(crate) stdin: &'static str,
    pub(crate) editor: Option<&'static str>,
    pub(crate) code: i32,
    pub(crate) out: &'static str,
    pub(crate) err: &'static str,
    /// The name under which the output is saved for later steps.
    pub(crate) saved_as: Option<&'static str>,
    /// The oldest minor version with this command, or this wording.
    pub(crate) since: u32,
    /// Run at the same time.
    pub(crate) meanwhile: Vec<Step>,
    /// Run one after the other, each with the watch's output afterwards. Such a command never ends.
    pub(crate) then: Vec<(Step, &'static str)>,
}

/// A command that succeeds and prints `out`.
pub(crate) fn run(command: &'static str, out: &'static str) -> Step {
    Step { command, out, ..Step::default() }
}

/// A command that fails with `err`.
pub(crate) fn fails(command: &'static str, err: &'static str) -> Step {
    Step { code: 1, err, ..run(command, "") }
}

/// A command whose output is saved.
pub(crate) fn save(command: &'static str, name: &'static str) -> Step {
    Step { saved_as: Some(name), ..run(command, "{any}") }
}

impl Step {
    /// Its own command, and those that run with it.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &'static str> {
        let others = self.meanwhile.iter().chain(self.then.iter().map(|(step, _)| step));
        std::iter::once(self.command).chain(others.map(|step| step.command))
    }

    /// Written before the command runs.
    pub(crate) fn file(mut self, name: &'static str, text: &'static str) -> Step {
        self.files.push((name, text));
        self
    }

    pub(crate) fn stdin(mut self, text: &'static str) -> Step {
        self.stdin = text;
        self
    }

    /// A `sed` script used as the editor.
    pub(crate) fn editor(mut self, script: &'static str) -> Step {
        self.editor = Some(script);
        self
    }

    pub(crate) fn warns(mut self, err: &'static str) -> Step {
        self.err = err;
        self
    }

    pub(crate) fn since(mut self, minor: u32) -> Step {
        self.since = minor;
        self
    }

    /// Another command, at the same time.
    pub(crate) fn meanwhile(mut self, step: Step) -> Step {
        self.meanwhile.push(step);
        self
    }

    /// The output of a watch after another command.
    pub(crate) fn then(mut self, step: Step, out: &'static str) -> Step {
        self.then.push((step, out));
        self
    }

    /// Exit code and output of a command that prints and fails.
    pub(crate) fn but(mut self, code: i32, out: &'static str) -> Step {
        (self.code, self.out) = (code, out);
        self
    }
}
