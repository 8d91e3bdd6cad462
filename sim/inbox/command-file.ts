import type { InboxCommand } from '../../src/workspace/inbox/command.js';
import { parseInboxCommand } from '../../src/workspace/inbox/command.js';

/** The parts of an outcome that are checked. */
interface OutcomeFields {
  readonly ok: boolean;
  readonly code: string;
  readonly generation: number | null;
}

/** An outcome, with how often the serialiser had died and the agent had written the file by then. */
interface ObservedOutcome extends OutcomeFields {
  readonly deaths: number;
  readonly writes: number;
}

/** A file that an agent writes (moves into its inbox), possibly several times, always with the same name and content. */
export class CommandFile {
  /** Null: deliberately not a valid command. */
  readonly command: InboxCommand | null;
  /** The outcomes that the agent could see, in order. */
  readonly outcomes: ObservedOutcome[] = [];
  /** Number of power failures when the file was last written; null: never written. */
  outages_at_write: number | null = null;
  writes = 0;

  constructor(
    readonly agent_id: string,
    readonly name: string,
    readonly text: string,
  ) {
    const parsed = parseInboxCommand(agent_id, name, Buffer.from(text));
    this.command = 'unreadable' in parsed ? null : parsed;
  }

  get label(): string {
    return `${this.agent_id}/${this.name} (${this.command?.event_type ?? 'no command'} ${this.command?.subject ?? ''})`;
  }

  get lastOutcome(): ObservedOutcome | undefined {
    return this.outcomes.at(-1);
  }
}

/** Reads an outcome file. Null if the file is incomplete, as a power loss may leave it. */
export function readOutcome(bytes: Buffer): OutcomeFields | null {
  try {
    const { ok, reply } = JSON.parse(bytes.toString('utf8'));
    const code = reply.problem ?? reply.reason;
    return { ok, code, generation: reply.claim?.generation ?? null };
  } catch {
    return null;
  }
}
