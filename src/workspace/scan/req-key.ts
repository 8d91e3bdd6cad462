/**
 * A requirement key: `REQ-`, words, a number, and optionally a version. Real projects write `REQ-COORD-001` and
 * `REQ-F-SCHEMA-DISC-001` as well as the methodology's `REQ-F-AUTH-001`.
 */
const KEY = String.raw`REQ(?:-[A-Z][A-Z0-9]{0,31}){1,6}-\d{1,6}`;
const VERSION = String.raw`(?:\.\d{1,5}\.\d{1,5}\.\d{1,5})?`;

/** A key in text, with its version. Not matched within a longer word, such as `XREQ-F-1`, `REQ-F-1_a` or `REQ-F-1-b`. */
export const KEY_IN_TEXT = `(?<![A-Za-z0-9_-])(?:${KEY})${VERSION}(?![A-Za-z0-9_]|-[A-Za-z0-9])`;

const WHOLE_KEY = new RegExp(`^${KEY}${VERSION}$`);

export const isReqKey = (text: string): boolean => text.length <= 256 && WHOLE_KEY.test(text);

/** The key without its version, which is not part of its identity. */
export const withoutVersion = (key: string): string => key.replace(/\.\d+\.\d+\.\d+$/, '');
