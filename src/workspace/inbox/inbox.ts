import { join } from 'node:path';
import { unlessMissing } from '../../stores/file/disk.js';
import type { FileFault } from '../regular-file.js';
import { COMMAND_FILE_BYTES_MAX, type InboxCommand, parseInboxCommand } from './command.js';
import type { InboxReply } from './execute-command.js';
import type { AgentFolder, InboxFiles } from './files.js';
import { isCommandFile, isTemporaryFile } from './names.js';
import { Outcomes } from './outcomes.js';
import { quarantineFile } from './quarantine.js';

/** Maximum commands of one agent per scan, before all inboxes are listed again. */
const NAMES_PER_SCAN_MAX = 1000;

/** Why an inbox file is not a valid command. `file` is null if its name cannot be used for an outcome. */
export interface InvalidFile {
  readonly file: string | null;
  readonly reason: string;
}

/** One agent's folders, held open for one scan: inbox, outcomes and quarantine. */
export class AgentInbox {
  private outcomes: Outcomes | null = null;

  private constructor(
    readonly agent_id: string,
    private readonly files: InboxFiles,
    private readonly events: string,
    private readonly folder: AgentFolder,
    /** The names of its commands, the next one last, so that `pop` takes it in constant time. */
    private readonly waiting: Buffer[],
  ) {}

  /** Opens and scans an inbox once; null if the agent's folder is missing or not a folder. */
  static async open(files: InboxFiles, events: string, agentId: string): Promise<AgentInbox | null> {
    const folder = await files.open(join(events, 'inbox', agentId));
    if (folder === null) return null;
    try {
      const names = await folder.names();
      const commands = names.filter((name) => !isTemporaryFile(name.toString('utf8')));
      const waiting = commands.sort(Buffer.compare).slice(0, NAMES_PER_SCAN_MAX).reverse();
      return new AgentInbox(agentId, files, events, folder, waiting);
    } catch (error) {
      await folder.close();
      throw error;
    }
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  /** The next command, or why its file is invalid; null if none is left, or if the file was withdrawn meanwhile. */
  async next(): Promise<InboxCommand | InvalidFile | null> {
    const bytes = this.waiting.at(-1);
    if (bytes === undefined) return null;
    const name = bytes.toString('utf8');
    if (!isCommandFile(name)) return { file: null, reason: BAD_NAME };
    const content = await this.folder.read(name, COMMAND_FILE_BYTES_MAX);
    if (content === 'missing') {
      this.waiting.pop();
      return null;
    }
    if (typeof content === 'string') return { file: name, reason: FAULT_TEXTS[content] };
    const command = parseInboxCommand(this.agent_id, name, content);
    return 'unreadable' in command ? { file: name, reason: command.unreadable } : command;
  }

  async putOutcome(name: string, outcome: object): Promise<void> {
    await (await this.openOutcomes()).put(name, outcome);
  }

  /** The refusal that an outcome file already has for this command, for example from before a crash; null if none has. */
  async earlierRefusal({ name, request_id }: InboxCommand): Promise<InboxReply | null> {
    return (await this.openOutcomes()).refusal(name, request_id);
  }

  private async openOutcomes(): Promise<Outcomes> {
    this.outcomes ??= new Outcomes(await this.files.makeFolder(join(this.events, 'outcome', this.agent_id)));
    return this.outcomes;
  }

  /** Removes the command that `next` returned, after its outcome is written. */
  async remove(name: string): Promise<void> {
    await unlessMissing(this.folder.unlink(name), undefined);
    this.waiting.pop();
  }

  /** Moves the invalid file that `next` found to quarantine. False if the agent's quarantine is full. */
  async quarantine(reason: string, at: string): Promise<boolean> {
    const quarantine = await this.files.makeFolder(join(this.events, 'broken', this.agent_id));
    try {
      const name = this.waiting.at(-1) as Buffer;
      const isQuarantined = await unlessMissing(
        quarantineFile(this.folder, name, quarantine, { reason, at }),
        undefined,
      );
      if (isQuarantined === false) return false;
      this.waiting.pop();
      return true;
    } finally {
      await quarantine.close();
    }
  }

  async close(): Promise<void> {
    await this.folder.close();
    await this.outcomes?.close();
  }
}

const BAD_NAME =
  'The name of a command file must start with a letter or digit, contain only letters, digits and . _ ~ @ + -, have ' +
  'at most 128 characters before its ending .json, and not end in .reason.json.';

const FAULT_TEXTS: Readonly<Record<Exclude<FileFault, 'missing'>, string>> = {
  link: 'It is a link. Write a regular file, then move it here under its final name.',
  not_a_file: 'It is not a regular file. Write a regular file, then move it here under its final name.',
  hard_link: 'It has more than one hard link. Write a separate file, then move it here.',
  too_large: `It has more than ${COMMAND_FILE_BYTES_MAX / 1024} KiB. Write large results to the drafts instead.`,
};
