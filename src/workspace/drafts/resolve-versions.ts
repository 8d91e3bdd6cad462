import type { ManifestFile } from '../../core/methodology/definition/manifest.js';

/**
 * Walks the accepted versions of one path in log order, starting from the file on disk. The walk begins at the
 * first version that is based on the file on disk or equals it: earlier versions were promoted and superseded. If there
 * is no such version, a person has changed the file, and the file is kept. Returns the last version that follows from
 * the file on disk, and the versions that conflict with it.
 */
export function resolveVersions<F extends Pick<ManifestFile, 'sha256' | 'base_sha256'>>(
  currentSha256: string | null,
  versions: readonly F[],
): { last: F | null; conflicts: readonly F[] } {
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
