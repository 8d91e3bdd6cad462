import type { Genesis } from '../client/index.js';
import type { ProjectKey } from '../stores/store.js';
import type { ServerAddress } from '../workspace/address.js';
import { Workspace } from '../workspace/workspace.js';
import { type ExitCode, wrongUsage } from './exit.js';
import { explicitAgent, terminalName, userAgent } from './identity.js';
import type { Io } from './io.js';
import { type Paint, paintFor } from './output/paint.js';
import { CliState, type CliTarget } from './state/cli-state.js';
import { homeFolder } from './state/home-folder.js';
import type { CommandServer } from './workspace/command-server.js';

/** The global options. */
export interface GlobalOptions {
  readonly json?: true;
  readonly url?: string;
  readonly tenant?: string;
  readonly project?: string;
  readonly agent?: string;
  readonly session?: string;
}

const DEFAULT_URL = 'http://127.0.0.1:4680';
/** Short, because a person waits: enough for a server restart. */
const RETRY_POLICY = { tries: 4, within_seconds: 10 };

/** What a command runs with: identity, server address, stored CLI state, and output. */
export class CommandContext {
  readonly paint: Paint;
  private cliState: CliState | null = null;
  readonly is_json: boolean;
  exit_code: ExitCode = 0;
  private commandServer: Promise<CommandServer> | null = null;
  private soleAgentPromise: Promise<string | null> | null = null;

  constructor(
    readonly io: Io,
    private readonly options: GlobalOptions,
  ) {
    this.paint = paintFor(io);
    this.is_json = options.json === true;
  }

  /** What the CLI remembers in its own folder. Looked for at first use: a command that needs none must work anywhere. */
  get state(): CliState {
    this.cliState ??= new CliState(homeFolder(this.io));
    return this.cliState;
  }

  get url(): string {
    return this.explicitUrl ?? DEFAULT_URL;
  }

  /** The server URL from `--url` or `GENESIS_URL`; null if neither is set. */
  get explicitUrl(): string | null {
    return this.optionOrEnv(this.options.url, 'GENESIS_URL');
  }

  get tenant(): string {
    return this.optionOrEnv(this.options.tenant, 'GENESIS_TENANT') ?? 'default';
  }

  /**
   * The calling agent: the one given explicitly, else the workspace's sole agent, else the user on this machine.
   */
  async agent(): Promise<string> {
    return explicitAgent(this.io, this.options.agent) ?? (await this.soleAgent()) ?? userAgent(this.io);
  }

  /** The agent of a single-agent workspace; null if several agents may work here. */
  private soleAgent(): Promise<string | null> {
    const workspace = Workspace.findOwn(this.io.cwd, this.io.env);
    if (workspace === null) return Promise.resolve(null);
    // Ignore unreadable files here: the commands that need them report the error.
    this.soleAgentPromise ??= import('../workspace/load.js')
      .then(({ soleAgent }) => soleAgent(workspace))
      .catch(() => null);
    return this.soleAgentPromise;
  }

  /** The project from `--project` or `GENESIS_PROJECT`; null if neither is set. */
  get explicitProject(): string | null {
    return this.optionOrEnv(this.options.project, 'GENESIS_PROJECT');
  }

  /** The session from `--session` or `GENESIS_SESSION`; null if neither is set. */
  get explicitSession(): string | null {
    return this.optionOrEnv(this.options.session, 'GENESIS_SESSION');
  }

  async target(): Promise<CliTarget> {
    const { url } = this;
    const workspaceProject = await this.workspaceProject();
    const tenant =
      this.optionOrEnv(this.options.tenant, 'GENESIS_TENANT') ?? workspaceProject?.tenant_id ?? this.tenant;
    const project =
      this.explicitProject ?? workspaceProject?.project_id ?? (await this.state.project(url, tenant));
    if (project === null) {
      throw wrongUsage(
        'Which project? Say --project NAME, set GENESIS_PROJECT, or import a plan from here first.',
      );
    }
    return { url, tenant, project };
  }

  /** The project of the workspace that contains the current folder. */
  private async workspaceProject(): Promise<ProjectKey | null> {
    const workspace = Workspace.findOwn(this.io.cwd, this.io.env);
    if (workspace === null) return null;
    const { readProjectKey } = await import('../workspace/project-file.js');
    // Ignore a missing project name here: the commands that need it report the error.
    return readProjectKey(workspace).catch(() => null);
  }

  /** The session given explicitly, else the stored session of this agent at this terminal. */
  async session(): Promise<string> {
    if (this.explicitSession !== null) return this.explicitSession;
    const agentId = await this.agent();
    return this.state.session(await this.target(), agentId, await this.terminal(agentId));
  }

  /** The terminal part of a session's key. A sole agent has one session for all terminals. */
  private async terminal(agentId: string): Promise<string> {
    return agentId === (await this.soleAgent()) ? '' : terminalName(this.io);
  }

  async removeSession(): Promise<void> {
    const agentId = await this.agent();
    await this.state.removeSession(await this.target(), agentId, await this.terminal(agentId));
  }

  async genesis(): Promise<Genesis> {
    const { url, token } = await this.server();
    return this.genesisAt({ ...(await this.target()), url }, token);
  }

  async genesisAt(target: CliTarget, token = this.explicitToken): Promise<Genesis> {
    // Lazy import: commands on a workspace's own files do not pay its load time.
    const { Genesis } = await import('../client/index.js');
    return new Genesis({ ...target, ...(token === null ? {} : { token }), retry: RETRY_POLICY });
  }

  /** A client for calls that concern the whole tenant. */
  async genesisForTenant(): Promise<Genesis> {
    const { tenant, explicitProject } = this;
    const { url, token } = await this.server();
    return this.genesisAt({ url, tenant, project: explicitProject ?? 'default' }, token);
  }

  /** The token from `GENESIS_TOKEN`; null if it is not set. */
  private get explicitToken(): string | null {
    return this.optionOrEnv(undefined, 'GENESIS_TOKEN');
  }

  /**
   * The server to call, and its token. Without an explicit URL, a workspace uses its own server, which this command
   * may have to start. A server with its own token gets that token only.
   */
  async server(): Promise<ServerAddress> {
    const workspace = this.explicitUrl === null ? Workspace.find(this.io.cwd) : null;
    if (workspace === null) return { url: this.url, token: this.explicitToken };
    this.commandServer ??= import('./workspace/command-server.js').then(({ startCommandServer }) =>
      startCommandServer((text) => this.printNotice(text), workspace),
    );
    const { url, token } = await this.commandServer;
    return { url, token: token ?? this.explicitToken };
  }

  /** Stops the server that this command started, if any. */
  async close(): Promise<void> {
    await (await this.commandServer?.catch(() => null))?.stop();
  }

  print(text: string): void {
    this.io.stdout.write(`${text}\n`);
  }

  printJson(value: unknown): void {
    this.print(JSON.stringify(value));
  }

  /** Prints the reply as JSON (`--json`) or as text. */
  show<T>(reply: T, renderText: (reply: T) => string): void {
    if (this.is_json) this.printJson(reply);
    else this.print(renderText(reply));
  }

  /** Prints to standard error, so that it does not mix with the output. */
  printNotice(text: string): void {
    this.io.stderr.write(`${text}\n`);
  }

  private optionOrEnv(given: string | undefined, variable: string): string | null {
    const value = given ?? this.io.env[variable];
    return value === undefined || value === '' ? null : value;
  }
}
