import { stringify } from 'yaml';
import { sha256Hex } from '../../coordinator/runtime/identity.js';

export interface ContextManifest {
  readonly aggregate_hash: string;
  readonly entries: readonly { readonly path: string; readonly sha256: string }[];
}

/**
 * One hash for all files that an agent was given, equal on every machine: entries sorted by their paths' UTF-8 bytes, texts
 * normalized to NFC and LF, each file by its SHA-256, the list as YAML with sorted keys, and the SHA-256 of that.
 * Binary files are hashed unchanged.
 */
export function contextManifest(files: ReadonlyMap<string, Uint8Array | string>): ContextManifest {
  const entries = [...files]
    .map(([path, content]) => ({
      path: path.replaceAll('\\', '/').normalize('NFC'),
      sha256: `sha256:${sha256Hex(normalizeContent(content))}`,
    }))
    .sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  // Block style, without line folding.
  const list = stringify(entries, { sortMapEntries: true, lineWidth: 0, version: '1.2' });
  return { aggregate_hash: `sha256:${sha256Hex(list)}`, entries };
}

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
