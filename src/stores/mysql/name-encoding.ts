/** The most bytes a name may take; every column that holds one has this length. */
export const NAME_BYTES_MAX = 1500;

const BEYOND = /[\ud800-\uffff]/g;
const ESCAPED = /\ue000([0-9a-f]{4})/g;

/**
 * A name as its column holds it: UTF-8, except that code units from U+D800 on are spelled as U+E000 and four hex
 * digits. So bytes sort as code units do (UTF-8 by itself sorts as code points do), halves of surrogate pairs survive,
 * and whoever looks into a table can still read it.
 */
export function encodeName(name: string): string {
  return name.replace(BEYOND, (unit) => `\ue000${unit.charCodeAt(0).toString(16)}`);
}

export function decodeName(stored: string): string {
  return stored.replace(ESCAPED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** For a comparison with a column: bytes on both sides. */
export const nameBytes = (name: string): Buffer => Buffer.from(encodeName(name));
