"""Chromium, and what its pages look like."""

import shutil

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync"]
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1180, "height": 900}


def colour(page, selector: str, what: str) -> tuple[float, ...]:
    """Red, green, blue as the browser shows them."""
    text = page.eval_on_selector(selector, f"element => getComputedStyle(element).{what}")
    return tuple(float(part) for part in text[text.index("(") + 1 : -1].split(",")[:3])


def contrast(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    """Contrast ratio of two colours (WCAG 2, relative luminance)."""

    def luminance(rgb: tuple[float, ...]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in rgb)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
