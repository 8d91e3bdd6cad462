import type { InboxCommand } from '../../src/workspace/inbox/command.js';
import { parseCommand } from '../../src/workspace/inbox/command.js';

/** What an outcome comes to. */
interface OutcomeFields {
  readonly ok: boolean;
  readonly code: string;
  readonly generation: number | null;
}

/** An answer, and how often the serialiser had died by then and the letter been dropped. */
export interface ObservedOutcome extends OutcomeFields {
  readonly deaths: number;
  readonly drops: number;
}

/** One file that an agent drops, as often as it takes, always the same bytes by the same name. */
export class CommandFile {
  /** Null: it is no command, and is meant to be none. */
  readonly command: InboxCommand | null;
  /** The outcomes that lay there for the agent to see, in order. */
  readonly outcomes: ObservedOutcome[] = [];
  /** How often the power had failed when it was dropped last; null: it never was. */
  dropped_in_outage: number | null = null;
  drops = 0;

  constructor(
    readonly agent_id: string,
    readonly name: string,
    readonly text: string,
  ) {
    const read = parseCommand(agent_id, name, Buffer.from(text));
    this.command = 'unreadable' in read ? null : read;
  }

  get label(): string {
    return `${this.agent_id}/${this.name} (${this.command?.event_type ?? 'no command'} ${this.command?.subject ?? ''})`;
  }

  get lastOutcome(): ObservedOutcome | undefined {
    return this.outcomes.at(-1);
  }
}

/** Null: it is not whole, as a loss of power may leave it. */
export function readOutcome(bytes: Buffer): OutcomeFields | null {
  try {
    const { ok, reply } = JSON.parse(bytes.toString('utf8'));
    const code = reply.problem ?? reply.reason;
    return { ok, code, generation: reply.claim?.generation ?? null };
  } catch {
    return null;
  }
}
