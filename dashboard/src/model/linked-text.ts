/** A part of a text. */
type TextPart = { readonly text: string } | { readonly subject: string } | { readonly time: string };

/** Ids of tasks and of edges, `A-001-schema`, `REQ-F-AUTH-001#design_code`, and times in UTC. */
const PART_PATTERN =
  /\b(REQ-[A-Z0-9-]+#[a-z_]+|[A-Z]{1,8}-[0-9]{3}-[A-Za-z0-9_-]{1,50}(?:::[1-9][0-9]{0,3})?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]{1,9})?Z)/;
const TIME_PATTERN = /^[0-9]{4}-/;

/** Splits a text at the subjects and the times that it names. */
export const linkedText = (text: string): TextPart[] =>
  text
    .split(PART_PATTERN)
    .map((part, index) =>
      index % 2 === 0 ? { text: part } : TIME_PATTERN.test(part) ? { time: part } : { subject: part },
    )
    .filter((part) => !('text' in part) || part.text !== '');
