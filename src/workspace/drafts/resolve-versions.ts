import type { ManifestFile } from '../../core/graph/manifest.js';

/** What becomes of one path: the last accepted file that follows from what is there, and those that do not. */
export interface ResolvedVersions<F> {
  readonly last: F | null;
  readonly conflicts: readonly F[];
}

/**
 * Walks the accepted versions of one path, in the order of the log, from what is on disk now. The walk starts at the
 * first version that was begun from it, or is it: those before were promoted and overtaken. When there is none, a person
 * has changed the file, and it stays theirs.
 */
export function resolveVersions<F extends Pick<ManifestFile, 'sha256' | 'base_sha256'>>(
  currentSha256: string | null,
  versions: readonly F[],
): ResolvedVersions<F> {
  const follows = (version: F, state: string | null) =>
    version.base_sha256 === state || version.sha256 === state;
  const first = versions.findIndex((version) => follows(version, currentSha256));
  if (first === -1) return { last: null, conflicts: versions.slice(-1) };
  let state = currentSha256;
  let last: F | null = null;
  const conflicts: F[] = [];
  for (const version of versions.slice(first)) {
    if (follows(version, state)) {
      state = version.sha256;
      last = version;
    } else conflicts.push(version);
  }
  return { last, conflicts };
}
