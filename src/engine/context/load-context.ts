import { sha256Hex } from '../../coordinator/runtime/identity.js';
import { contextPath, hashContext, normalizedText, sortedByPath } from '../../core/engine/context-hash.js';
import { engineError } from '../engine-error.js';
import { type ContextNeed, encodeContext, type ListedContextFile } from './context-manifest.js';

export interface ContextFile {
  /** Relative to the project, separated by `/`. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** Whether the edge requires or recommends the file by name. Absent: `other`. */
  readonly need?: 'required' | 'recommended' | 'other';
}

export interface ContextOptions {
  readonly files: readonly ContextFile[];
  /** Names that the edge requires and that the caller has not found. */
  readonly missing_required?: readonly string[];
  /**
   * If the documents together exceed this size, they are searched for relevant passages instead of being
   * passed on whole.
   */
  readonly rag_threshold_bytes?: number | undefined;
}

export interface LoadedContext {
  readonly manifest: Uint8Array;
  readonly context_hash: string;
  readonly is_searched: boolean;
}

export const RAG_THRESHOLD_BYTES = 50 * 1024;
const FILES_MAX = 2000;
const TOTAL_BYTES_MAX = 16 * 1024 * 1024;
/** Topology, edges, profiles, features and constraints, but not the files in the context folders of a project. */
const CONFIGURATION = /^\.ai-workspace\/(?!context\/).*\.ya?ml$|(^|\/)project_constraints\.ya?ml$/;

/**
 * The current context of a run. Configuration and constraints are passed on whole, documents only if their total size is
 * small. The hash covers the whole files, never passages.
 */
export function loadContext(options: ContextOptions): LoadedContext {
  assertWithinLimits(options.files);
  const files = sortedByPath(options.files.map(normalizedFile));
  assertDistinct(files);
  const documentBytes = files
    .filter(({ need, text }) => need !== 'configuration' && text !== null)
    .reduce((sum, { bytes }) => sum + bytes, 0);
  const is_searched = documentBytes > (options.rag_threshold_bytes ?? RAG_THRESHOLD_BYTES);
  const context_hash = hashContext(files, sha256Hex);
  const listed = files.map(
    (file): ListedContextFile => ({
      ...file,
      tier:
        file.text === null
          ? 'not_text'
          : is_searched && file.need !== 'configuration'
            ? 'searched'
            : 'verbatim',
    }),
  );
  const missing_required = [...(options.missing_required ?? [])];
  const manifest = encodeContext({ format: 1, context_hash, is_searched, missing_required, files: listed });
  return { manifest, context_hash, is_searched };
}

function normalizedFile({
  path: originalPath,
  bytes,
  need = 'other',
}: ContextFile): Omit<ListedContextFile, 'tier'> {
  const path = contextPath(originalPath);
  const text = normalizedText(bytes);
  const content = text === null ? bytes : Buffer.from(text);
  return {
    path,
    sha256: `sha256:${sha256Hex(content)}`,
    bytes: content.byteLength,
    need: CONFIGURATION.test(path) ? ('configuration' satisfies ContextNeed) : need,
    text,
  };
}

function assertWithinLimits(files: readonly ContextFile[]): void {
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  if (files.length <= FILES_MAX && totalBytes <= TOTAL_BYTES_MAX) return;
  throw engineError(
    'failed',
    `The context has ${files.length} files with ${totalBytes} bytes: the limits are ${FILES_MAX} files and ` +
      `${TOTAL_BYTES_MAX} bytes. Name fewer files in context_guidance of the edge, or move files out of the folders.`,
  );
}

/** Refuses two spellings of one path: they would be one file on some machines and two on others. */
function assertDistinct(sorted: readonly { readonly path: string }[]): void {
  const repeated = sorted.find(({ path }, at) => path === sorted[at - 1]?.path);
  if (repeated === undefined) return;
  throw engineError(
    'failed',
    `The context has two files named ${JSON.stringify(repeated.path)}. Rename one of them.`,
  );
}
