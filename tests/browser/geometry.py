"""What is wrong with how a page is laid out, measured in the browser."""

from typing import Any

from playwright.sync_api import Page

# texts of figures that meet, leave their figure or have a line run through them; a page that is
# wider than its window; and names in boxes that are cut off
_PROBLEMS = """() => {
  const found = [];
  const meets = (a, b, by) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > by
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
  for (const plot of document.querySelectorAll('.stPlotlyChart')) {
    const frame = plot.getBoundingClientRect();
    if (!frame.width) continue;
    const texts = [...plot.querySelectorAll('.main-svg text')].filter(t => {
      const style = getComputedStyle(t), r = t.getBoundingClientRect();
      return t.textContent.trim() && r.width && style.visibility !== 'hidden'
        && style.opacity !== '0' && !t.closest('.hoverlayer');
    }).map(t => [t.textContent.trim().slice(0, 40), t.getBoundingClientRect(), t]);
    texts.forEach(([one, a], i) => {
      for (const [other, b] of texts.slice(i + 1))
        if (meets(a, b, 2)) found.push(`“${one}” meets “${other}”`);
      if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1
          || a.bottom > frame.bottom + 1) found.push(`“${one}” is cut`);
    });
    const lines = [...plot.querySelectorAll('.scatterlayer path.js-line')].filter(
      p => p.getTotalLength && parseFloat(getComputedStyle(p).strokeWidth) > 1.4);
    for (const [name, box, text] of texts) {
      if (!text.closest('.annotation')) continue;
      const inner = {left: box.left + 2, right: box.right - 2, top: box.top + 4,
                     bottom: box.bottom - 4};
      const through = lines.some(path => {
        const matrix = path.getScreenCTM(), length = path.getTotalLength();
        for (let at = 0; at < length; at += 3) {
          const p = path.getPointAtLength(at);
          const x = matrix.a * p.x + matrix.e, y = matrix.d * p.y + matrix.f;
          if (x > inner.left && x < inner.right && y > inner.top && y < inner.bottom) return true;
        }
        return false;
      });
      if (through) found.push(`a line runs through “${name}”`);
    }
  }
  const wide = document.documentElement.scrollWidth - innerWidth;
  const main = document.querySelector('[data-testid="stMain"]');
  if (wide > 0) found.push(`the page is ${wide} px too wide`);
  if (main && main.scrollWidth > main.clientWidth)
    found.push(`the main part is ${main.scrollWidth - main.clientWidth} px too wide`);
  for (const box of document.querySelectorAll(
      '[data-testid="stMain"] button p, [data-testid="stMain"] label p,'
      + '[data-testid="stMain"] [data-baseweb="select"] > div > div:first-child > div')) {
    if (box.clientWidth && box.scrollWidth > box.clientWidth + 1)
      found.push(`“${box.textContent.trim().slice(0, 40)}” is cut off`);
  }
  for (const icon of document.querySelectorAll('[data-testid="stIconMaterial"]')) {
    if (icon.getBoundingClientRect().width > 1.6 * parseFloat(getComputedStyle(icon).fontSize))
      found.push(`the icon ${icon.textContent} shows its name`);
  }
  return found;
}"""

_WORDS = """() => {
  const main = document.querySelector('[data-testid="stMainBlockContainer"]');
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  const said = [];
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!parent || parent.closest('svg, style, script, table, [data-testid="stDataFrame"],'
        + '.stExpander, .st-key-tab-content, .st-key-page-bar, [data-testid="stPageLink"],'
        + 'button, [role="option"],'
        + '[data-testid="stTooltipContent"], [data-testid="stIconMaterial"], '
        + '[role="img"]')) continue;
    if (!parent.checkVisibility({checkVisibilityCSS: true})) continue;
    said.push(walker.currentNode.textContent);
  }
  return said.join(' ');
}"""


def problems(page: Page) -> list[str]:
    """Measure the page; each problem is a phrase."""
    found: list[str] = page.evaluate(_PROBLEMS)
    return sorted(set(found))


def words_in_sight(page: Page) -> list[str]:
    """The words outside figures, tables, buttons and tabs."""
    text: Any = page.evaluate(_WORDS)
    return [word for word in str(text).split() if any(letter.isalnum() for letter in word)]
