/** Maximum length of a name in bytes, as in schema.sql and commit.sql. The columns of tenants and projects hold only 128. */
export const NAME_BYTES_MAX = 1500;

const UNITS_TO_ESCAPE = /[\ud800-\uffff]/g;
const ESCAPE_SEQUENCE = /\ue000([0-9a-f]{4})/g;

/**
 * A name as stored in its column: UTF-8, except that code units from U+D800 on are written as U+E000 and four hex
 * digits. So bytes sort in code-unit order (plain UTF-8 sorts in code-point order), lone surrogates survive, and the
 * tables stay readable.
 */
export function encodeName(name: string): string {
  return name.replace(UNITS_TO_ESCAPE, (unit) => `\ue000${unit.charCodeAt(0).toString(16)}`);
}

export function decodeName(stored: string): string {
  return stored.replace(ESCAPE_SEQUENCE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** The bytes of a name as stored in its column. */
export const nameBytes = (name: string): Buffer => Buffer.from(encodeName(name));
