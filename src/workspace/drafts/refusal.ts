import { pathFault } from '../../core/methodology/definition/asset-path.js';

/** The reasons why drafts cannot become a result, each with the next step. */
const NEXT_STEPS = {
  NO_DRAFTS: 'Write the files into the drafts folder, under the path each has in the project, then submit.',
  BAD_NAME: 'Rename the file in the drafts folder, then submit.',
  SYMLINK: 'Replace the link with the file itself, then submit.',
  HARD_LINK: 'Copy the file instead of linking it, then submit.',
  NOT_A_FILE: 'Drafts must be regular files in folders. Remove this entry, then submit.',
  SWAPPED: 'Stop writing to the drafts, then submit again.',
  UNREADABLE: 'Make the file readable for the user that runs the serialiser, then submit.',
  TOO_LARGE: 'Store large files elsewhere, and submit a file that references them.',
  TOO_MANY: 'Submit the work in parts, or keep generated files out of the drafts.',
  BASE_CHANGED:
    'Begin these drafts again: gen task refresh-drafts FEATURE#EDGE. Repeat your changes in them, then submit.',
  DELETION: 'Restore the file in the worktree, then submit. Only a person removes shared files.',
  NO_WORKTREE: 'Claim the edge again to get a worktree, or set `isolation: drafts` in coordination.yml.',
  WORKTREE_FAILED: 'Fix the cause that git names, then try again.',
  BAD_BASE: 'Remove the base record, compare the drafts with the files of the project, then submit.',
} as const;

export interface DraftRefusal {
  readonly refused: keyof typeof NEXT_STEPS;
  /**
   * What is refused: a file by its path in the drafts folder or the worktree, a folder or a record by its path in the
   * project; in other cases the subject or the commit.
   */
  readonly path: string;
  readonly says: string;
  readonly next: string;
}

export const draftRefusal = (
  refused: DraftRefusal['refused'],
  path: string,
  message: string,
): DraftRefusal => ({ refused, path, says: message, next: NEXT_STEPS[refused] });

/** The next step if the base of a worktree has changed. */
export const WORKTREE_BASE_CHANGED =
  'Commit the files of the project. Then release the edge and claim it again: the new worktree begins with that commit, and the old worktree is kept.';

export const isDraftRefusal = (value: object | null): value is DraftRefusal =>
  value !== null && 'refused' in value;

/** Refuses a path that no file of the project may have; null if it is valid. */
export function nameRefusal(path: string): DraftRefusal | null {
  const fault = pathFault(path);
  return fault === null ? null : draftRefusal('BAD_NAME', path, `${JSON.stringify(path)}: ${fault}.`);
}
