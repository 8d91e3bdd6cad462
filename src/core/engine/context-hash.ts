import { stringify } from 'yaml';

export interface ContextManifest {
  readonly context_hash: string;
  readonly entries: readonly ContextEntry[];
}
interface ContextEntry {
  readonly path: string;
  readonly sha256: string;
}
type Sha256Hex = (data: string | Uint8Array) => string;

/**
 * One hash for all files that an agent was given, equal on every machine. It is the SHA-256 of a YAML list with sorted
 * keys, which has the path and the SHA-256 of each file, sorted by the UTF-8 bytes of the paths. Texts are normalized to
 * NFC and LF before they are hashed; binary files are hashed unchanged.
 */
export function hashContextFiles(
  files: ReadonlyMap<string, Uint8Array | string>,
  sha256Hex: Sha256Hex,
): ContextManifest {
  const entries = [...files].map(([path, content]) => ({
    path: contextPath(path),
    sha256: `sha256:${sha256Hex(normalizedContent(content))}`,
  }));
  return { context_hash: hashContext(entries, sha256Hex), entries: sortedByPath(entries) };
}

/** The hash of entries whose paths are normalized, and whose digests are those of normalized contents. */
export function hashContext(entries: readonly ContextEntry[], sha256Hex: Sha256Hex): string {
  const listed = sortedByPath(entries).map(({ path, sha256 }) => ({ path, sha256 }));
  // Block style without line folding, because the hash depends on every character of the list.
  const list = stringify(listed, { sortMapEntries: true, lineWidth: 0, version: '1.2' });
  return `sha256:${sha256Hex(list)}`;
}

export const contextPath = (path: string): string => path.replaceAll('\\', '/').normalize('NFC');

export const sortedByPath = <Entry extends { readonly path: string }>(entries: readonly Entry[]): Entry[] =>
  [...entries].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));

function normalizedContent(content: Uint8Array | string): Uint8Array {
  const text = normalizedText(content);
  return text === null ? (content as Uint8Array) : Buffer.from(text);
}

/** The text in NFC with LF line ends; null if the content is not text: it has a zero byte, or is not UTF-8. */
export function normalizedText(content: Uint8Array | string): string | null {
  const text = typeof content === 'string' ? content : textOf(content);
  return text === null ? null : text.replace(/\r\n?/g, '\n').normalize('NFC');
}

const TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return TEXT.decode(bytes);
  } catch {
    return null;
  }
}
