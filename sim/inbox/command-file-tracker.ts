import type { DiskImage } from '../world/disk-image.js';
import type { SimWorld } from '../world/world.js';
import { type CommandFile, readOutcome } from './command-file.js';
import { FairnessCheck } from './fairness-check.js';

export const EVENTS_FOLDER = '/w/events';

/** Tracks all command files: where they are, and their outcomes as soon as these appear. */
export class CommandFileTracker {
  readonly files: CommandFile[] = [];
  readonly fairness = new FairnessCheck();
  /** How often the serialiser has died. */
  deaths = 0;
  /** How often the power has failed. */
  outages = 0;
  private answeredFiles = new Set<CommandFile>();
  private readonly byOutcomePath = new Map<string, CommandFile>();

  constructor(
    private readonly world: SimWorld,
    private readonly diskImage: DiskImage,
    /** Whether it is a violation if an agent waits longer than is fair. */
    private readonly isFairnessRequired: boolean,
  ) {}

  get isEmpty(): boolean {
    return this.files.every((commandFile) => !this.isWaiting(commandFile));
  }

  add(commandFile: CommandFile): void {
    this.files.push(commandFile);
    this.byOutcomePath.set(outcomePath(commandFile), commandFile);
  }

  isWaiting(commandFile: CommandFile): boolean {
    return this.diskImage.fileAt(inboxPath(commandFile)) !== null;
  }

  /** Whether a readable outcome exists. */
  isAnswered(commandFile: CommandFile): boolean {
    return this.answeredFiles.has(commandFile);
  }

  /** The agent renamed the file into the inbox. */
  onWritten(commandFile: CommandFile): void {
    commandFile.outages_at_write = this.outages;
    commandFile.writes += 1;
    const waitingByAgent = new Map<string, number>();
    let filesAhead = 0;
    for (const other of this.files) {
      const isWaiting = this.isWaiting(other);
      waitingByAgent.set(other.agent_id, (waitingByAgent.get(other.agent_id) ?? 0) + (isWaiting ? 1 : 0));
      if (other.agent_id === commandFile.agent_id && (isWaiting || !this.isAnswered(other))) filesAhead += 1;
    }
    this.fairness.onWritten(commandFile, filesAhead, waitingByAgent);
  }

  /** The serialiser has finished with the file. */
  onRemoved(agentId: string, name: string): void {
    const commandFile = this.byOutcomePath.get(`${EVENTS_FOLDER}/outcome/${agentId}/${name}`);
    const starvedFile =
      commandFile === undefined
        ? null
        : this.fairness.onDone(commandFile, (waiting) => this.isWaiting(waiting));
    if (this.isFairnessRequired && starvedFile !== null) {
      this.world.reportViolation(
        'INBOX-FAIR',
        `${agentId} is served repeatedly while ${starvedFile.label} waits`,
      );
    }
  }

  /** The serialiser renamed a file to this path. */
  onPathAppeared(path: string): void {
    const commandFile = this.byOutcomePath.get(path);
    if (commandFile === undefined) return;
    const outcome = readOutcome(this.diskImage.fileAt(path)?.content() ?? Buffer.alloc(0));
    if (outcome === null) {
      this.world.reportViolation('INBOX-WHOLE', `an incomplete outcome was renamed to ${path}`);
      return;
    }
    this.world.trace(`${commandFile.label} has the outcome ${outcome.code}`);
    this.answeredFiles.add(commandFile);
    commandFile.outcomes.push({ ...outcome, deaths: this.deaths, writes: commandFile.writes });
    if (commandFile.command === null) this.fairness.onDone(commandFile, (waiting) => this.isWaiting(waiting));
  }

  onSerialiserDied(): void {
    this.deaths += 1;
    this.fairness.onCrash();
  }

  onPowerFailed(): void {
    this.outages += 1;
    this.fairness.reset();
    this.answeredFiles = new Set(
      this.files.filter((commandFile) => {
        const file = this.diskImage.fileAt(outcomePath(commandFile));
        return file !== null && readOutcome(file.content()) !== null;
      }),
    );
  }
}

export const inboxPath = ({ agent_id, name }: CommandFile): string =>
  `${EVENTS_FOLDER}/inbox/${agent_id}/${name}`;
const outcomePath = ({ agent_id, name }: CommandFile): string =>
  `${EVENTS_FOLDER}/outcome/${agent_id}/${name}`;
