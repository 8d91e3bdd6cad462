import type { CommandContext } from '../context.js';
import { markSequences } from '../output/sanitize.js';
import { countText, relativeTime } from '../output/text.js';
import { type AgentProcess, stateText } from './agent-process.js';
import type { FleetProgress } from './fleet-progress.js';

const CLEAR = markSequences('\u001b[H\u001b[2J\u001b[3J');
const REDRAW_MS = 500;
const MESSAGES_SHOWN = 6;

/** Shows the agents while they work: a table on a terminal, otherwise one line per change. */
export class LiveView {
  private readonly messages: string[] = [];
  private readonly canRedraw: boolean;
  private timer: NodeJS.Timeout | undefined;
  private lastText = '';
  private skippedLines = 0;

  constructor(
    private readonly context: CommandContext,
    private readonly agents: readonly AgentProcess[],
    private readonly progress: FleetProgress,
  ) {
    this.canRedraw = context.io.columns !== null && !context.is_json;
  }

  start(): void {
    if (this.canRedraw) this.timer = setInterval(() => this.draw(), REDRAW_MS);
  }

  stop(): void {
    clearInterval(this.timer);
    if (this.canRedraw) this.draw();
  }

  readonly printLine = (line: string): void => {
    const text = `${new Date().toISOString().slice(11, 19)}  ${line}`;
    this.messages.push(text);
    if (this.messages.length > MESSAGES_SHOWN) this.messages.shift();
    if (this.canRedraw) this.draw();
    else this.writeLine(text);
  };

  /** Writes a line. While the output is not read, lines are counted instead of buffered. */
  private writeLine(text: string): void {
    const { io, is_json } = this.context;
    const output = is_json ? io.stderr : io.stdout;
    if (output.writableNeedDrain) {
      this.skippedLines += 1;
      return;
    }
    if (this.skippedLines > 0) output.write(`(${countText(this.skippedLines, 'line')} skipped)\n`);
    this.skippedLines = 0;
    output.write(`${text}\n`);
  }

  private draw(): void {
    const text = this.tableText();
    if (text === this.lastText || this.context.io.stdout.writableNeedDrain) return;
    this.lastText = text;
    this.context.print(`${CLEAR}${text}`);
  }

  private tableText(): string {
    const rows = this.agents.map((agent) => ({ agent, progress: this.progress.progressOf(agent.name) }));
    const table = this.context.table(rows, [
      { title: 'Agent', cell: ({ agent }) => agent.name },
      { title: 'State', cell: ({ agent }) => stateText(agent.state) },
      { title: 'Work', cell: ({ progress }) => progress.claim?.task_id ?? '', is_flexible: true },
      { title: 'Generation', cell: ({ progress }) => String(progress.claim?.generation ?? '') },
      {
        title: 'Lease ends',
        cell: ({ progress }) => relativeTime(progress.claim?.expires_at ?? null, Date.now()),
      },
      { title: 'Done', cell: ({ progress }) => String(progress.accepted) },
      { title: 'Last line', cell: ({ agent }) => agent.log.lastLine, is_flexible: true },
    ]);
    return [table, '', ...this.messages.flatMap((message) => this.context.wrap(message, 0))].join('\n');
  }
}
