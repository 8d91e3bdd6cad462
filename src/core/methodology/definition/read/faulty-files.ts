import type { Methodology } from '../methodology.js';
import { type EdgeNameIndex, fileStem } from './edge-names.js';
import type { WorkspaceFileKind } from './file-kinds.js';
import type { WorkspaceFiles } from './workspace-files.js';
import type { ConfigFaultList } from './yaml-file.js';

/** The files with faults, and what depends on them. */
export interface FaultyFiles {
  readonly names: ReadonlySet<string>;
  /** Edges whose file has a fault, so that their checks are unknown. */
  readonly edges: ReadonlySet<string>;
  /** Whether everything depends on one of these files. */
  readonly affectsEverything: boolean;
}

/** Folders that contain only features. */
const FEATURE_FOLDER = /^(features|vectors)(\/(active|completed))?$/;
/** Files in which a fault affects only what depends on them. A fault in another file affects its edge or the whole project. */
const SPECIFIC_KINDS: readonly WorkspaceFileKind[] = ['feature', 'profile', 'intent', 'engine'];

export function faultyFilesOf(
  files: WorkspaceFiles,
  names: EdgeNameIndex,
  { faults }: ConfigFaultList,
  /** The profile of features whose definition names no profile. */
  defaultProfile: string,
): FaultyFiles {
  const faultyNames = new Set(faults.map(({ file }) => file));
  const edges = new Set<string>();
  let affectsEverything = false;
  const specificFiles = new Set(SPECIFIC_KINDS.flatMap((kind) => files.pathsOf(kind)));
  const edgeFiles = new Set(files.pathsOf('edge'));
  const profileFiles = new Set(files.pathsOf('profile'));
  for (const file of faultyNames) {
    if (profileFiles.has(file) && fileStem(file) === defaultProfile) affectsEverything = true;
    if (specificFiles.has(file) || FEATURE_FOLDER.test(file)) continue;
    const edge = edgeFiles.has(file) ? edgeOf(file, names) : null;
    if (edge === null) affectsEverything = true;
    else edges.add(edge);
  }
  return { names: faultyNames, edges, affectsEverything };
}

/**
 * The edge of a file, by the name of the file, because its content may not be parsable. Null: the file may belong to
 * any edge.
 */
const edgeOf = (file: string, names: EdgeNameIndex): string | null => names.find(fileStem(file));

/** The methodology without the checks of these edges. An edge without checks does not converge. */
export function withoutEdgeChecks(methodology: Methodology, edges: ReadonlySet<string>): Methodology {
  const remainingEdges = Object.entries(methodology.edges).filter(([edge]) => !edges.has(edge));
  return { ...methodology, edges: Object.fromEntries(remainingEdges) };
}
