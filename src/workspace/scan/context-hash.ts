import { createHash } from 'node:crypto';
import { stringify } from 'yaml';

/** What an agent was given to work with: paths from one root, and what each file holds. */
export type ContextFiles = ReadonlyMap<string, Uint8Array | string>;

export interface ContextManifest {
  readonly aggregate_hash: string;
  readonly entries: readonly { readonly path: string; readonly sha256: string }[];
}

/**
 * One hash for a whole context, the same on every machine: entries in the order of their paths' UTF-8 bytes, texts in
 * NFC with LF, each by its SHA-256, the list as YAML with sorted keys, and the SHA-256 of that. What is no text is taken
 * as the bytes it is.
 */
export function contextManifest(files: ContextFiles): ContextManifest {
  const entries = [...files]
    .map(([path, content]) => ({
      path: normalPath(path),
      sha256: `sha256:${sha256(normalizeContent(content))}`,
    }))
    .sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  return { aggregate_hash: `sha256:${sha256(serializeEntries(entries))}`, entries };
}

/** Block style, one entry after the other, and no line ever folded. */
const serializeEntries = (entries: ContextManifest['entries']): string =>
  stringify(entries, { sortMapEntries: true, lineWidth: 0, version: '1.2' });

const normalPath = (path: string): string => path.replaceAll('\\', '/').normalize('NFC');

const TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function normalizeContent(content: Uint8Array | string): Uint8Array {
  const text = typeof content === 'string' ? content : textOf(content);
  if (text === null) return content as Uint8Array;
  return Buffer.from(text.replace(/\r\n?/g, '\n').normalize('NFC'));
}

function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return TEXT.decode(bytes);
  } catch {
    return null;
  }
}

const sha256 = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex');
