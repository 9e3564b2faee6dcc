"""Undefined names: one error for all that a form uses. Names whose definition has failed follow from that error."""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from nessie.base.source import Consequence, NessieError, Span
from nessie.base.text.nearest import nearest
from nessie.syntax import nodes as syntax
from nessie.syntax.scopes import binders, uses
from nessie.typing.advice.hints import definition, has_failed, named, written

GRAPHICS = """
    display bounding_box bound_box scale_box window make_window make_ps_window close_window clear_window kill_window
    default_window draw_points draw_lines draw_segments draw_string draw_strings get_mouse_info text_window
    w_window w_box w_subbox w_make_window w_kill_window w_make_window_box w_kill_window_box w_add_box w_add_text_box
    w_add_button w_add_button_stack w_add_text w_add_image w_get_named_box w_reset_box_size w_clear_box
    w_bounds_from_box w_box_scale w_bounding_box w_draw_point w_draw_big_point w_draw_points w_draw_big_points
    w_draw_segments w_draw_lines w_draw_string w_draw_rectangle w_draw_arrow w_shade_rectangle w_shade_polygon
    w_write_text_centered w_write_text_left w_write_paragraph w_get_input w_get_input_noblock w_get_button_input
    w_get_zoom_box w_get_color w_black w_white w_red w_blue w_green w_cyan w_yellow w_magenta w_pink w_light_green
    w_light_blue w_purple w_gray w_dark_gray w_orange
"""                                             # of the original library, and names that begin with xps_


NOT_DEFINED = " is not defined"


class Undefined(NessieError):
    """A form uses a name that is not defined."""


class DefinedBadly(Undefined, Consequence):
    """A form uses a name whose definition has failed."""


def undefined(name: str, span: Span | None, known: Iterable[str]) -> Undefined:
    """Return the error for a name that none of the `known` ones is."""
    place = [(span, "")] if span else []
    if name in GRAPHICS.split() or name.startswith("xps_"):
        return Undefined(f"{name} is for graphics, which Nessie does not have yet", *place)
    from nessie.syntax.errors.other_languages import name_hint  # only mistakes need it
    elsewhere, why = definition(name, span)
    near = nearest(name, known, 0.7)
    text = typed = written(span)               # True, for true
    if span and span.source.name.startswith("argument ") and span.source.text.strip() == text:
        why = why or f"a string is written with quotes: '\"{text}\"'"
    hint = why or name_hint(name, span) or (f"did you mean {near}?" if near else "")
    return (DefinedBadly if has_failed(name, span) else Undefined)(
        f"{typed if typed.lower() == name else name}{NOT_DEFINED}", *place, *elsewhere, hint=hint)


def with_others(error: Undefined, form: syntax.TopLevel, known: Iterable[str]) -> NessieError:
    """Return the error for all undefined names of the form, in the order of the text. Names whose definition has failed
    are told if there are no others."""
    names = set(known)
    others = [undefined(use.name, use.span, names) for use in undefined_uses(form, names) if use.span != error.span]
    first: dict[str, Undefined] = {}
    for found in sorted([error, *others], key=lambda found: start(found.span)):
        first.setdefault(named(found.span), found)
    own = [found for found in first.values() if not isinstance(found, Consequence)]
    if len(own) < 2:
        return own[0] if own else error
    shown = [named(each.span) for each in own]
    return Undefined(f"{', '.join(shown[:-1])} and {shown[-1]} are not defined",
                     *[(place, label or remark(each)) for each in own for place, label in each.places])


def remark(error: NessieError) -> str:
    """Return what an error for one name says but that it is not defined."""
    return error.hint or ("" if error.message.endswith(NOT_DEFINED) else error.message)


def undefined_uses(form: syntax.TopLevel, known: set[str]) -> Iterator[syntax.Name]:
    """Yield the uses of names that neither the form nor anything before it binds."""
    scopes: dict[str, list[Span]] = {}
    for binder in binders(form):
        scopes.setdefault(binder.name, []).extend(binder.scopes)
    own = form.name if isinstance(form, syntax.FunctionDef) else ""
    for use in uses(form):
        span = use.span
        if span and use.name not in known and use.name != own \
                and not any([scope.holds(span) for scope in scopes.get(use.name, ())]):
            yield use


def start(span: Span | None) -> int:
    return span.start if span else 0
