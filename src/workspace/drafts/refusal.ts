/** The reasons why drafts cannot become a result, each with the next step. */
const NEXT_STEPS = {
  NO_DRAFTS: 'Write the files into the drafts folder, under the path each has in the project, then submit.',
  BAD_NAME: 'Rename the file in the drafts folder, then submit.',
  SYMLINK: 'Put the file itself there instead of the link, then submit.',
  HARD_LINK: 'Copy the file instead of linking it, then submit.',
  NOT_A_FILE: 'Drafts are regular files in folders: remove what is there, then submit.',
  SWAPPED: 'Submit when nothing writes to the drafts any more.',
  UNREADABLE: 'Make the file readable for who serialises, then submit.',
  TOO_LARGE: 'Keep large files elsewhere and promote a file that names them.',
  TOO_MANY: 'Promote the work in parts, or keep generated files out of the drafts.',
  BASE_CHANGED: 'Bring the drafts up to the shared files, begin them again to say so, then submit.',
  DELETION: 'Restore the file in the worktree: removing shared files is left to a person.',
  NO_WORKTREE: 'Claim the edge again to have a worktree, or set `isolation: drafts` in coordination.yml.',
  BAD_BASE: 'Remove the record of the bases, begin the drafts again, then submit.',
} as const;

export type DraftRefusalCode = keyof typeof NEXT_STEPS;

export interface DraftRefusal {
  readonly refused: DraftRefusalCode;
  /** Relative to the drafts folder, which is relative to the project's root. */
  readonly path: string;
  readonly says: string;
  readonly next: string;
}

export const draftRefusal = (refused: DraftRefusalCode, path: string, message: string): DraftRefusal => ({
  refused,
  path,
  says: message,
  next: NEXT_STEPS[refused],
});

export const isDraftRefusal = (value: object): value is DraftRefusal => 'refused' in value;
