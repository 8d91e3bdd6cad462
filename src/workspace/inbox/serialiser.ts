import { join } from 'node:path';
import { isProblem, isUndecided, type Problem, problem } from '../../coordinator/wire/problem.js';
import type { InboxCommand } from './command.js';
import { DecidedCommands } from './decided-commands.js';
import { executeCommand, type InboxReply, isSuccess, type WorkspaceContext } from './execute-command.js';
import { type InboxFiles, NotAFolderError } from './files.js';
import { AgentInbox, type InvalidFile } from './inbox.js';
import { isAgentFolder } from './names.js';
import { nodeInboxFiles } from './node-files.js';
import { PassCounts } from './pass-counts.js';

/** Maximum agents whose folders are open at once. The next scan serves the others. */
const AGENTS_AT_ONCE_MAX = 500;

/** Maximum distinct warnings, so that a thousand invalid folders do not flood the output. */
const WARNINGS_MAX = 100;

export const SERIALISER_STEPS = ['read', 'decided', 'told', 'removed'] as const;
export type SerialiserStep = (typeof SERIALISER_STEPS)[number];

export interface SerialiserOptions {
  /** The log's folder, which contains `inbox/`, `outcome/` and `broken/`. */
  readonly events: string;
  readonly context: WorkspaceContext;
  /** Access to those folders; by default this machine's disk. */
  readonly files?: InboxFiles;
  readonly now: () => Date;
  /** Reports something in an inbox that needs a person. */
  readonly warn: (sentence: string) => void;
  /** Called at every step of every command, so that a test can crash between any two. */
  readonly onStep?: (step: SerialiserStep, command: InboxCommand) => void;
}

/** The store was unreachable: unanswered commands stay in their inboxes. */
export class UndecidedError extends Error {
  override readonly name = 'Undecided';
}

interface CommandTurn {
  readonly inbox: AgentInbox;
  readonly command: InboxCommand;
}

/**
 * Executes the commands that agents drop into their inboxes, one per agent and round; a round is committed
 * together. An outcome is written only after the commit, and a file is removed only after its outcome is written.
 * Work cut short by a crash is repeated: the log shows whether it was already done, so nothing is done twice.
 */
export class Serialiser {
  /** Index of the agent that goes first in the next round. */
  private roundOffset = 0;
  /** The last agent of the previous scan; the next scan starts after it. */
  private lastScanned = '';
  private readonly warned = new Set<string>();

  private readonly files: InboxFiles;
  private readonly decidedCommands: DecidedCommands;

  constructor(private readonly options: SerialiserOptions) {
    this.files = options.files ?? nodeInboxFiles;
    this.decidedCommands = new DecidedCommands(options.context);
  }

  /** Serves every inbox until all are empty or the signal aborts: busy inboxes may never be empty. */
  async pass(signal?: AbortSignal): Promise<PassCounts> {
    const counts = new PassCounts();
    const stuck = new Set<string>();
    for (;;) {
      // Record expired claims even while other agents keep the pass busy.
      counts.expired += await this.options.context.coordinator.sweep();
      if (signal?.aborted) return counts;
      const inboxes = await this.open(stuck);
      try {
        if (inboxes.length === 0) return counts;
        await this.serve(inboxes, counts, stuck);
      } finally {
        await Promise.all(inboxes.map((inbox) => inbox.close()));
      }
    }
  }

  /** The agents that have a folder, by name. */
  async agents(): Promise<string[]> {
    const folder = join(this.options.events, 'inbox');
    const names = await this.files.list(folder);
    for (const name of names) {
      if (!isAgentFolder(name) && !name.startsWith('.')) {
        this.warnOnce(join(folder, JSON.stringify(name)), 'is the name of no agent: it is not looked into');
      }
    }
    return names.filter(isAgentFolder).sort();
  }

  private async open(stuck: Set<string>): Promise<AgentInbox[]> {
    const names = (await this.agents()).filter((agentId) => !stuck.has(agentId));
    const agents = rotated(names, names.filter((agentId) => agentId <= this.lastScanned).length);
    const open = (agentId: string) => this.isolateFailure(agentId, stuck, () => this.openOne(agentId));
    const opened: AgentInbox[] = [];
    for (let at = 0; at < agents.length && opened.length < AGENTS_AT_ONCE_MAX; at += AGENTS_AT_ONCE_MAX) {
      const some = agents.slice(at, at + AGENTS_AT_ONCE_MAX);
      const found = await Promise.all(some.map(open));
      opened.push(...found.filter((inbox) => inbox !== null));
      this.lastScanned = some.at(-1) as string;
    }
    return opened;
  }

  private async openOne(agentId: string): Promise<AgentInbox | null> {
    const inbox = await AgentInbox.open(this.files, this.options.events, agentId);
    if (inbox === null) {
      this.warnOnce(join(this.options.events, 'inbox', agentId), 'is no folder, and no inbox');
      return null;
    }
    if (!inbox.isEmpty) return inbox;
    await inbox.close();
    return null;
  }

  private async serve(inboxes: readonly AgentInbox[], counts: PassCounts, stuck: Set<string>): Promise<void> {
    for (;;) {
      const waiting = inboxes.filter((inbox) => !inbox.isEmpty && !stuck.has(inbox.agent_id));
      if (waiting.length === 0) return;
      await this.round(rotated(waiting, this.roundOffset), counts, stuck);
      this.roundOffset += 1;
    }
  }

  private async round(inboxes: readonly AgentInbox[], counts: PassCounts, stuck: Set<string>): Promise<void> {
    const turns: CommandTurn[] = [];
    const taken = await settleAll(
      inboxes.map((inbox) =>
        this.isolateFailure(inbox.agent_id, stuck, () => this.nextCommand(inbox, counts, stuck)),
      ),
    );
    taken.forEach((command, at) => {
      if (command != null) turns.push({ inbox: inboxes[at] as AgentInbox, command });
    });
    const replies = await this.decide(turns, stuck);
    await settleAll(
      turns.map((turn, at) =>
        this.isolateFailure(turn.inbox.agent_id, stuck, () => this.finish(turn, replies[at] ?? null, counts)),
      ),
    );
    const undecided = replies.find((reply) => reply !== null && isUndecided(reply)) as Problem | undefined;
    if (undecided !== undefined) throw new UndecidedError(undecided.detail);
  }

  /** A failure in one agent's folders stops that agent only. */
  private async isolateFailure<T>(
    agentId: string,
    stuck: Set<string>,
    action: () => Promise<T>,
  ): Promise<T | null> {
    try {
      return await action();
    } catch (error) {
      if (!isFolderError(error)) throw error;
      stuck.add(agentId);
      this.warnOnce(`The inbox of ${agentId}`, `waits: ${(error as Error).message}`);
      return null;
    }
  }

  private async nextCommand(
    inbox: AgentInbox,
    counts: PassCounts,
    stuck: Set<string>,
  ): Promise<InboxCommand | null> {
    const found = await inbox.next();
    if (found === null) return null;
    if (!('reason' in found)) {
      this.options.onStep?.('read', found);
      return found;
    }
    if (!(await this.quarantine(inbox, found))) stuck.add(inbox.agent_id);
    else counts.broken += 1;
    return null;
  }

  /** Quarantines an invalid file. Also writes an outcome, because its agent waits for one. */
  private async quarantine(inbox: AgentInbox, { file, reason }: InvalidFile): Promise<boolean> {
    const { events, now } = this.options;
    const kept = join('events', 'broken', inbox.agent_id);
    if (file !== null) {
      const reply = problem('INVALID_REQUEST', `${reason} It is kept in ${kept}.`);
      await inbox.putOutcome(file, { file, ok: false, reply });
    }
    if (await inbox.quarantine(reason, now().toISOString())) return true;
    this.warnOnce(
      join(events, 'broken', inbox.agent_id),
      'is full: this inbox waits until somebody has looked and emptied it',
    );
    return false;
  }

  /** Decides one round. Null: the agent's drafts could not be read or promoted, which stops that agent only. */
  private async decide(turns: readonly CommandTurn[], stuck: Set<string>): Promise<(InboxReply | null)[]> {
    const { context } = this.options;
    const recalled = await Promise.all(turns.map((turn) => this.earlierReply(turn, stuck)));
    const replies = turns.map(
      ({ inbox, command }, at) =>
        recalled[at] ?? this.isolateFailure(inbox.agent_id, stuck, () => executeCommand(context, command)),
    );
    return Promise.all(replies);
  }

  /** An earlier reply to this command: from the log or, for a refusal that left no event, from its outcome file. */
  private async earlierReply(
    { inbox, command }: CommandTurn,
    stuck: Set<string>,
  ): Promise<InboxReply | null> {
    const decided = await this.decidedCommands.replyFor(command);
    return decided ?? this.isolateFailure(inbox.agent_id, stuck, () => inbox.earlierRefusal(command));
  }

  private async finish(
    { inbox, command }: CommandTurn,
    reply: InboxReply | null,
    counts: PassCounts,
  ): Promise<void> {
    const { onStep } = this.options;
    if (reply !== null) onStep?.('decided', command);
    if (reply === null || isUndecided(reply)) {
      this.decidedCommands.invalidate(command);
      return;
    }
    await this.decidedCommands.add(command);
    const { name, event_type, request_id } = command;
    await inbox.putOutcome(name, { file: name, event_type, request_id, ok: isSuccess(reply), reply });
    onStep?.('told', command);
    await inbox.remove(name);
    counts.count(isProblem(reply) ? reply.problem : reply.reason);
    onStep?.('removed', command);
  }

  private warnOnce(whose: string, what: string): void {
    if (this.warned.has(whose) || this.warned.size >= WARNINGS_MAX) return;
    this.warned.add(whose);
    this.options.warn(`${whose} ${what}.`);
  }
}

const isFolderError = (error: unknown): boolean =>
  error instanceof NotAFolderError || typeof (error as NodeJS.ErrnoException).syscall === 'string';

/** Waits for all promises before it throws, so that none still uses folders that are then closed. */
async function settleAll<T>(works: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

/** The list rotated to start at `by`. */
const rotated = <T>(list: readonly T[], by: number): T[] => {
  const cut = list.length === 0 ? 0 : by % list.length;
  return [...list.slice(cut), ...list.slice(0, cut)];
};
