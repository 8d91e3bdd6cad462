import { createHash } from 'node:crypto';
import { stringify } from 'yaml';

/** The files that an agent was given, by path relative to one root. */
export type ContextFiles = ReadonlyMap<string, Uint8Array | string>;

export interface ContextManifest {
  readonly aggregate_hash: string;
  readonly entries: readonly { readonly path: string; readonly sha256: string }[];
}

/**
 * One hash for a whole context, equal on every machine: entries sorted by their paths' UTF-8 bytes, texts
 * normalized to NFC and LF, each file by its SHA-256, the list as YAML with sorted keys, and the SHA-256 of that.
 * Binary files are hashed unchanged.
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

/** Block style, without line folding. */
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
