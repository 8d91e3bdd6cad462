/** A part of a text. */
export type TextPart = { readonly text: string } | { readonly subject: string };

/** Ids of tasks, and of edges: `A-001-schema`, `REQ-F-AUTH-001#design_code`. */
const SUBJECTS = /\b(REQ-[A-Z0-9-]+#[a-z_]+|[A-Z]{1,8}-[0-9]{3}-[A-Za-z0-9_-]{1,50}(?:::[1-9][0-9]{0,3})?)/;

/** Splits a text at the subjects that it names. */
export const linkedText = (text: string): TextPart[] =>
  text
    .split(SUBJECTS)
    .map((part, index) => (index % 2 === 1 ? { subject: part } : { text: part }))
    .filter((part) => 'subject' in part || part.text !== '');
