/** Maximum length of a name in bytes; every column that holds one has this length (schema.sql, commit.sql). */
export const NAME_BYTES_MAX = 1500;

const BEYOND = /[\ud800-\uffff]/g;
const ESCAPED = /\ue000([0-9a-f]{4})/g;

/**
 * A name as stored in its column: UTF-8, except that code units from U+D800 on are written as U+E000 and four hex
 * digits. So bytes sort in code-unit order (plain UTF-8 sorts in code-point order), lone surrogates survive, and the
 * tables stay readable.
 */
export function encodeName(name: string): string {
  return name.replace(BEYOND, (unit) => `\ue000${unit.charCodeAt(0).toString(16)}`);
}

export function decodeName(stored: string): string {
  return stored.replace(ESCAPED, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** For comparison with a column: bytes on both sides. */
export const nameBytes = (name: string): Buffer => Buffer.from(encodeName(name));
