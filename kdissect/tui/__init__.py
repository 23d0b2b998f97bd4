"""The terminal user interface, a Textual application over the layers below it.

How it fits together, and how a view is added:

- `session.Session` has all data: `log` (`engine.log.ExchangeLog`, the rows), `results` (results of the
  studies), `shown` (rows that the filter takes), `filter_text`, `progress`, `troubles`. It has no widgets.
  Workers in processes of their own fill it (`processes`).
- A `studies.study.Study` sees every event in a worker and returns plain values. Its module in
  `studies` bears the first word of its name.
- A `view.View` is a widget that fills the screen below the bars: `title`, `key`, `studies` it needs. Its
  line in `views.VIEWS` names it as "module:Class". The app makes it when it is first shown, has the session
  run its studies, and calls `session_changed(change, what)` while it is on screen, `shown()` whenever it
  comes to the front. It reads `self.session`, that of the `view.ViewApp` around it. A view stores selection
  and layout only.
- Views speak to the app by messages of `view`: `GoTo(row)` (show an exchange, or a field of it),
  `GoToConnection(connection)`, `UseFilter(text)`, `Follow(connection)`, `Notice(text)`. The app's
  `selected_row` is the exchange that is selected everywhere.
- When the filter changes, studies run again over the exchanges that it takes, and every view gets
  `Change.SHOWN`, then `Change.RESULT`. A study with `has_own_filter` sees everything (findings).
- A view brings its style as `DEFAULT_CSS` and its own keys as `BINDINGS`, which the help and docs/tui.md
  list. Lists of more than some hundred rows draw their lines themselves, as `panes.exchange_list` does (Line
  API).
- `user_state.State` has the settings that last from one run to the next. The app receives one.
- Text from the wire goes through `widgets.safe_text.text`, which returns a `rich.text.Text` without markup,
  with everything that does not print escaped. Never hand a `str` with such text to a widget: Textual reads
  markup in it.
"""
