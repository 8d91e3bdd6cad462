import type { Genesis } from '../../client/index.js';
import type { MethodologyClient } from '../../client/methodology.js';
import { isProblem } from '../../client/replies.js';
import type { ProjectStatus } from '../../core/contract/overview.js';
import type { AtQuery } from '../../core/contract/schema.js';
import { unwrapReply } from '../replies.js';

/** The methodology calls, independent of where the project is stored. */
export type ProjectCalls = Omit<MethodologyClient, 'init'>;

/** Calls that change nothing, and calls that are allowed only as a dry run. */
export type ReadOnlyCalls = Omit<
  ProjectCalls,
  'spawn' | 'foldBack' | 'checkpoint' | 'review' | 'createReviewLink' | 'decideProposal'
>;

export interface OpenedProject<Calls = ProjectCalls> {
  readonly calls: Calls;
  readonly title: string;
  /** The plan's status; null if the project has no plan and works by features alone. */
  plan(options?: AtQuery): Promise<ProjectStatus | null>;
  /** The content of a file of a result; null if it is not available, or larger than `bytesMax`. */
  blob(sha256: string, bytesMax: number): Promise<Uint8Array | null>;
  close(): Promise<void>;
}

/** A project that is called through a client. */
export const projectOfClient = (genesis: Genesis, close = async () => {}): OpenedProject => ({
  calls: genesis.methodology,
  title: genesis.project,
  plan: async (options = {}) => {
    const status = unwrapReply(await genesis.status(options));
    return Object.keys(status.tracks).length === 0 ? null : status;
  },
  blob: async (sha256, bytes_max) => {
    const bytes = await genesis.getBlob(sha256, { bytes_max });
    return isProblem(bytes) ? null : bytes;
  },
  close,
});
