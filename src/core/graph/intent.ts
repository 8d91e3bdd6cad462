/** Headings, remarks, fields of a template that nobody filled in: all that stands in an intent before it is one. */
const NOTHING_SAID = [
  /^#/,
  /^>?\s*$/,
  /^[-*_=\s]+$/,
  /^[>*_\s-]*[[{<(][^\]})>]*[\]})>][*_.\s]*$/,
  /^[>*_\s-]*(todo|tbd)\b/i,
  /^[>*_\s-]*[\w /]{1,40}:[*_\s]*([[{<(][^\]})>]*[\]})>]|todo|tbd)?[*_\s]*$/i,
];

/** Somebody has written down what they want: more than headings, and more than what a template says. */
export function hasIntent(text: string): boolean {
  const lines = text.replace(/<!--[\s\S]*?(-->|$)/g, '').split('\n', 2000);
  return lines.some((line) => !NOTHING_SAID.some((pattern) => pattern.test(line.slice(0, 500).trim())));
}
