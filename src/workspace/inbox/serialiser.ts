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

/** How many agents' folders are opened together. A scan ends when this many have commands; the next serves the others. */
const AGENTS_AT_ONCE_MAX = 500;

/** Maximum distinct warnings, so that a thousand invalid folders do not flood the output. */
const WARNINGS_MAX = 100;

export const SERIALISER_STEPS = ['read', 'decided', 'replied', 'removed'] as const;
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

/** A command was not decided: the store is unreachable or damaged, or the outcome is unknown. It stays in its inbox. */
export class UndecidedError extends Error {
  override readonly name = 'Undecided';
}

/** One pass over the inboxes: its counts, and the agents that it no longer serves because their folders failed. */
interface Pass {
  readonly counts: PassCounts;
  readonly blockedAgents: Set<string>;
}

interface CommandTurn {
  readonly inbox: AgentInbox;
  readonly command: InboxCommand;
}

/**
 * Executes the commands that agents drop into their inboxes, in rounds of one command per agent. The commands of a round are
 * sent together, so that the store can commit them in one batch. An outcome is written only after the commit, and a file is
 * removed only after its outcome is written.
 * Work cut short by a crash is repeated: the log shows whether it was already done, so nothing is done twice.
 */
export class Serialiser {
  /** Index of the agent that goes first in the next round. */
  private roundOffset = 0;
  /** The last agent of the previous scan; the next scan starts after it. */
  private lastScanned = '';
  /** The paths and inboxes that a warning has named. */
  private readonly warnedSources = new Set<string>();

  private readonly files: InboxFiles;
  private readonly decidedCommands: DecidedCommands;

  constructor(private readonly options: SerialiserOptions) {
    this.files = options.files ?? nodeInboxFiles;
    this.decidedCommands = new DecidedCommands(options.context);
  }

  /** Serves every inbox until all are empty or the signal aborts: busy inboxes may never be empty. */
  async pass(signal?: AbortSignal): Promise<PassCounts> {
    const counts = new PassCounts();
    const pass: Pass = { counts, blockedAgents: new Set() };
    for (;;) {
      // Record expired claims even while other agents keep the pass busy.
      counts.expired += await this.options.context.coordinator.sweep();
      if (signal?.aborted) return counts;
      const inboxes = await this.openNonEmptyInboxes(pass);
      try {
        if (inboxes.length === 0) return counts;
        await this.serve(inboxes, pass);
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
        this.warnOnce(
          join(folder, JSON.stringify(name)),
          'is not a valid agent id, so the folder is ignored',
        );
      }
    }
    return names.filter(isAgentFolder).sort();
  }

  private async openNonEmptyInboxes(pass: Pass): Promise<AgentInbox[]> {
    const names = (await this.agents()).filter((agentId) => !pass.blockedAgents.has(agentId));
    const agents = rotateList(names, names.filter((agentId) => agentId <= this.lastScanned).length);
    const tryOpen = (agentId: string) =>
      this.isolateFailure(agentId, pass, () => this.openIfNotEmpty(agentId));
    const opened: AgentInbox[] = [];
    for (let at = 0; at < agents.length && opened.length < AGENTS_AT_ONCE_MAX; at += AGENTS_AT_ONCE_MAX) {
      const batch = agents.slice(at, at + AGENTS_AT_ONCE_MAX);
      const inboxes = await Promise.all(batch.map(tryOpen));
      opened.push(...inboxes.filter((inbox) => inbox !== null));
      this.lastScanned = batch.at(-1) as string;
    }
    return opened;
  }

  private async openIfNotEmpty(agentId: string): Promise<AgentInbox | null> {
    const inbox = await AgentInbox.open(this.files, this.options.events, agentId);
    if (inbox === null) {
      this.warnOnce(join(this.options.events, 'inbox', agentId), 'is not a folder, and is ignored');
      return null;
    }
    if (!inbox.isEmpty) return inbox;
    await inbox.close();
    return null;
  }

  private async serve(inboxes: readonly AgentInbox[], pass: Pass): Promise<void> {
    for (;;) {
      const waiting = inboxes.filter((inbox) => !inbox.isEmpty && !pass.blockedAgents.has(inbox.agent_id));
      if (waiting.length === 0) return;
      await this.serveRound(rotateList(waiting, this.roundOffset), pass);
      this.roundOffset += 1;
    }
  }

  private async serveRound(inboxes: readonly AgentInbox[], pass: Pass): Promise<void> {
    const nextTurns = await settleAll(
      inboxes.map((inbox) => this.isolateFailure(inbox.agent_id, pass, () => this.nextTurn(inbox, pass))),
    );
    const turns = nextTurns.filter((turn) => turn !== null);
    const replies = await this.decide(turns, pass);
    await settleAll(
      turns.map((turn, index) =>
        this.isolateFailure(turn.inbox.agent_id, pass, () => this.finish(turn, replies[index] ?? null, pass)),
      ),
    );
    const undecided = replies.find((reply) => reply !== null && isUndecided(reply)) as Problem | undefined;
    if (undecided !== undefined) throw new UndecidedError(undecided.detail);
  }

  /** A failure in one agent's folders stops that agent only. */
  private async isolateFailure<T>(agentId: string, pass: Pass, action: () => Promise<T>): Promise<T | null> {
    try {
      return await action();
    } catch (error) {
      if (!isFolderError(error)) throw error;
      pass.blockedAgents.add(agentId);
      this.warnOnce(`The inbox of ${agentId}`, `is blocked: ${(error as Error).message}`);
      return null;
    }
  }

  private async nextTurn(inbox: AgentInbox, pass: Pass): Promise<CommandTurn | null> {
    const next = await inbox.next();
    if (next === null) return null;
    if (!('reason' in next)) {
      this.options.onStep?.('read', next);
      return { inbox, command: next };
    }
    if (!(await this.quarantine(inbox, next))) pass.blockedAgents.add(inbox.agent_id);
    else pass.counts.broken += 1;
    return null;
  }

  /** Quarantines an invalid file. Also writes an outcome, because its agent waits for one. */
  private async quarantine(inbox: AgentInbox, { file, reason }: InvalidFile): Promise<boolean> {
    const { events, now } = this.options;
    if (file !== null) {
      const quarantinePath = join('events', 'broken', inbox.agent_id);
      const reply = problem('INVALID_REQUEST', `${reason} The file was moved to ${quarantinePath}.`);
      await inbox.putOutcome(file, { file, ok: false, reply });
    }
    if (await inbox.quarantine(reason, now().toISOString())) return true;
    this.warnOnce(
      join(events, 'broken', inbox.agent_id),
      'is full: the inbox is blocked until a person inspects and empties this folder',
    );
    return false;
  }

  /** Decides one round. A reply is null if the agent's drafts could not be read or promoted, which stops only that agent. */
  private async decide(turns: readonly CommandTurn[], pass: Pass): Promise<(InboxReply | null)[]> {
    const recalled = await Promise.all(turns.map((turn) => this.earlierReply(turn, pass)));
    const execute = ({ inbox, command }: CommandTurn) =>
      this.isolateFailure(inbox.agent_id, pass, () => executeCommand(this.options.context, command));
    return Promise.all(turns.map((turn, index) => recalled[index] ?? execute(turn)));
  }

  /** An earlier reply to this command: from the log or, for a refusal that left no event, from its outcome file. */
  private async earlierReply({ inbox, command }: CommandTurn, pass: Pass): Promise<InboxReply | null> {
    const decided = await this.decidedCommands.replyFor(command);
    return decided ?? this.isolateFailure(inbox.agent_id, pass, () => inbox.earlierRefusal(command));
  }

  private async finish(
    { inbox, command }: CommandTurn,
    reply: InboxReply | null,
    { counts }: Pass,
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
    onStep?.('replied', command);
    await inbox.remove(name);
    counts.count(isProblem(reply) ? reply.problem : reply.reason);
    onStep?.('removed', command);
  }

  private warnOnce(source: string, what: string): void {
    if (this.warnedSources.has(source) || this.warnedSources.size >= WARNINGS_MAX) return;
    this.warnedSources.add(source);
    this.options.warn(`${source} ${what}.`);
  }
}

const isFolderError = (error: unknown): boolean =>
  error instanceof NotAFolderError || typeof (error as NodeJS.ErrnoException).syscall === 'string';

/** Waits for all promises before it throws, so that none still uses folders that are then closed. */
async function settleAll<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

const rotateList = <T>(list: readonly T[], offset: number): T[] => {
  const start = list.length === 0 ? 0 : offset % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
};
