/**
 * A requirement's key: `REQ-`, words, a number, and a version where one is told. Real projects write `REQ-COORD-001` and
 * `REQ-F-SCHEMA-DISC-001` as well as the `REQ-F-AUTH-001` of the book.
 */
const KEY = String.raw`REQ(?:-[A-Z][A-Z0-9]{0,31}){1,6}-\d{1,6}`;
const VERSION = String.raw`(?:\.\d{1,5}\.\d{1,5}\.\d{1,5})?`;

/** A key within a text, and its version. What is glued to more letters is another word. */
export const KEY_IN_TEXT = `(?<![A-Za-z0-9_-])(?:${KEY})${VERSION}(?![A-Za-z0-9_]|-[A-Za-z0-9])`;

const WHOLE = new RegExp(`^${KEY}${VERSION}$`);

export const isReqKey = (text: string): boolean => text.length <= 256 && WHOLE.test(text);

/** A key stays the same whatever version of it is meant. */
export const withoutVersion = (key: string): string => key.replace(/\.\d+\.\d+\.\d+$/, '');
