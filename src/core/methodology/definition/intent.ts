const LINES_MAX = 2000;
const LINE_LENGTH_MAX = 500;

/** Whether text states an intent: something other than headings and template text. */
export function hasIntent(text: string): boolean {
  const lines = text.replace(/<!--[\s\S]*?(-->|$)/g, '').split('\n', LINES_MAX);
  return lines.some((line) => !isHeading(line) && hasContent(line.slice(0, LINE_LENGTH_MAX)));
}

const isHeading = (line: string): boolean => line.startsWith('#');

/**
 * Whether a line has content: not empty, no horizontal rule, no `{placeholder}`, no TODO. In a field such as `Source: …`
 * only the value counts.
 */
function hasContent(line: string): boolean {
  const stripped = line.replace(/[*_`=]/g, '').replace(/^[>\s-]+/, '');
  const value = stripped.replace(/^[\w /]{1,40}:/, '').trim();
  return value !== '' && !/^[[{<(][^\]})>]*[\]})>]\.?$/.test(value) && !/^(todo|tbd)\b/i.test(stripped);
}
