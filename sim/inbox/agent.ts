import type { DiskImage } from '../world/disk-image.js';
import type { Rng } from '../world/rng.js';
import type { SimWorld } from '../world/world.js';
import { CommandFile } from './command-file.js';
import { type CommandFileTracker, inboxPath } from './command-file-tracker.js';
import type { InboxScenario } from './scenario.js';

const EDGES = ['design→code', 'code↔unit_tests'];
const FEATURES_AT_ONCE = 2;
/** A converged edge stays converged, so new features must appear now and then. */
const COMMANDS_PER_NEW_FEATURE = 25;
/** A file is renamed into place at most this long after it was written, or after the agent's file before it was renamed. */
const MOVE_MS_MAX = 5;

export interface InboxContext {
  readonly world: SimWorld;
  readonly diskImage: DiskImage;
  readonly scenario: InboxScenario;
  readonly tracker: CommandFileTracker;
  /** Whether agents only finish what they have started. */
  isOver: boolean;
}

type InboxAction = 'claim' | 'heartbeat' | 'step' | 'release' | 'converge' | 'stray' | 'garbage';

/** An agent that can only move files: writes commands, looks for outcomes, and writes lost commands again. */
export class InboxAgent {
  private readonly files: CommandFile[] = [];
  private readonly rng: Rng;
  private lastMoveMs = 0;
  private readonly inTransit = new Set<CommandFile>();

  constructor(
    private readonly context: InboxContext,
    readonly agent_id: string,
  ) {
    this.rng = context.world.rng.fork(agent_id);
  }

  run(): void {
    const { world, scenario, tracker } = this.context;
    world.schedule(this.rng.exponential(scenario.think_ms), `${this.agent_id} looks`, () => {
      const unanswered = this.files.filter((commandFile) => !tracker.isAnswered(commandFile));
      for (const commandFile of unanswered) this.checkFile(commandFile);
      if (!this.context.isOver && unanswered.length < scenario.burst_max) this.writeFiles();
      this.run();
    });
  }

  get isDone(): boolean {
    return (
      this.inTransit.size === 0 &&
      this.files.every((commandFile) => this.context.tracker.isAnswered(commandFile))
    );
  }

  /** Writes every file again, as if the agent had forgotten all outcomes. */
  writeAllAgain(): void {
    for (const commandFile of this.files) this.writeFile(commandFile);
  }

  private writeFile(commandFile: CommandFile): void {
    const { world, diskImage } = this.context;
    this.inTransit.add(commandFile);
    const folder = `/w/events/inbox/${this.agent_id}`;
    const draft = `${folder}/.${commandFile.name}.tmp`;
    diskImage.makeFolder(folder);
    diskImage.remove(draft);
    const file = diskImage.makeFile(draft);
    file?.append(Buffer.from(commandFile.text));
    // Without the sync, a power loss could leave the name without the content.
    file?.sync();
    // Files arrive in the order in which they were written.
    this.lastMoveMs = Math.max(this.lastMoveMs, world.now_ms) + this.rng.between(0, MOVE_MS_MAX);
    world.schedule(this.lastMoveMs - world.now_ms, `${commandFile.label} is written`, () => {
      this.inTransit.delete(commandFile);
      if (diskImage.rename(draft, inboxPath(commandFile))) this.context.tracker.onWritten(commandFile);
    });
  }

  private checkFile(commandFile: CommandFile): void {
    const { tracker, world } = this.context;
    if (tracker.isWaiting(commandFile) || this.inTransit.has(commandFile)) return;
    if (commandFile.outages_at_write === tracker.outages) {
      world.reportViolation(
        'INBOX-LOST',
        `${commandFile.label} disappeared without an outcome and without a power failure`,
      );
    }
    this.writeFile(commandFile);
  }

  private writeFiles(): void {
    const { tracker, scenario } = this.context;
    const count = 1 + this.rng.int(scenario.burst_max);
    for (let index = 0; index < count && tracker.files.length < scenario.commands; index += 1) {
      const name = `${String(this.files.length).padStart(4, '0')}.json`;
      const commandFile = new CommandFile(this.agent_id, name, this.textOf(this.pickAction()));
      this.files.push(commandFile);
      tracker.add(commandFile);
      this.writeFile(commandFile);
    }
  }

  private pickAction(): InboxAction {
    return this.rng.weighted<InboxAction>({
      claim: 5,
      heartbeat: 3,
      step: 2,
      release: 3,
      converge: 1,
      stray: 2,
      garbage: 0.5,
    });
  }

  private textOf(action: InboxAction): string {
    if (action === 'garbage') return `{"event_type": "edge_claim", ${this.rng.int(100)}`;
    const edgeFields = { feature: this.pickFeature(), edge: this.rng.pick(EDGES) };
    const { lease_seconds: lease_duration_seconds } = this.context.scenario;
    if (action === 'claim') {
      return JSON.stringify({ event_type: 'edge_claim', ...edgeFields, lease_duration_seconds });
    }
    const handle =
      action === 'stray' ? { ...edgeFields, generation: 1 + this.rng.int(4) } : this.lastGrant(edgeFields);
    const weights = { heartbeat: 3, step: 2, release: 2, converge: 1 };
    const performed = action === 'stray' ? this.rng.weighted(weights) : action;
    switch (performed) {
      case 'heartbeat':
        return JSON.stringify({ event_type: 'heartbeat', ...handle, lease_duration_seconds });
      case 'step':
        return JSON.stringify({
          event_type: 'iteration_completed',
          ...handle,
          iteration: 1,
          status: 'iterating',
        });
      case 'release':
        return JSON.stringify({ event_type: 'edge_released', ...handle });
      case 'converge':
        return JSON.stringify({
          event_type: 'edge_converged',
          ...handle,
          iteration: 1,
          result: { by: this.agent_id },
        });
    }
  }

  private pickFeature(): string {
    const newest =
      Math.floor(this.context.tracker.files.length / COMMANDS_PER_NEW_FEATURE) + FEATURES_AT_ONCE;
    return `REQ-F-SIM-${String(newest - this.rng.int(FEATURES_AT_ONCE)).padStart(3, '0')}`;
  }

  /** The handle that the agent was last granted, or that it expects to be granted. */
  private lastGrant(fallback: { feature: string; edge: string }): object {
    const grantedFile = this.files.findLast(({ lastOutcome }) => lastOutcome?.code === 'GRANTED');
    const claimFile = this.files.findLast(({ command }) => command?.kind === 'claim');
    const commandFile = this.rng.chance(0.8) ? (grantedFile ?? claimFile) : claimFile;
    if (commandFile?.command === undefined || commandFile.command === null)
      return { ...fallback, generation: 1 };
    const { feature, edge } = JSON.parse(commandFile.text);
    return { feature, edge, generation: commandFile.lastOutcome?.generation ?? 1 };
  }
}
