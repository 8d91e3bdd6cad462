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

/** The options that every command takes. */
export interface GlobalOptions {
  readonly json?: true;
  readonly url?: string;
  readonly tenant?: string;
  readonly project?: string;
  readonly agent?: string;
  readonly session?: string;
}

const DEFAULT_URL = 'http://127.0.0.1:4680';
/** A person waits for the answer: long enough for a server that restarts, not longer. */
const RETRY_POLICY = { tries: 4, within_seconds: 10 };

/** What a command works with: who calls, where the server is, what is remembered, and where to write. */
export class CommandContext {
  readonly paint: Paint;
  readonly state: CliState;
  readonly is_json: boolean;
  exit_code: ExitCode = 0;
  private commandServer: Promise<CommandServer> | null = null;
  private soleAgentPromise: Promise<string | null> | null = null;

  constructor(
    readonly io: Io,
    private readonly options: GlobalOptions,
  ) {
    this.paint = paintFor(io);
    this.state = new CliState(homeFolder(io));
    this.is_json = options.json === true;
  }

  get url(): string {
    return this.explicitUrl ?? DEFAULT_URL;
  }

  /** The server that was named; null: nobody did. */
  get explicitUrl(): string | null {
    return this.optionOrEnv(this.options.url, 'GENESIS_URL');
  }

  get tenant(): string {
    return this.optionOrEnv(this.options.tenant, 'GENESIS_TENANT') ?? 'default';
  }

  /** Who calls: whoever was named, the one agent of a workspace that has only one, or the user at this machine. */
  async agent(): Promise<string> {
    return explicitAgent(this.io, this.options.agent) ?? (await this.soleAgent()) ?? userAgent(this.io);
  }

  /** The agent that has this workspace to itself; null: several may work here. */
  private soleAgent(): Promise<string | null> {
    const workspace = Workspace.find(this.io.cwd);
    if (workspace === null) return Promise.resolve(null);
    // Files that cannot be read are found out by the commands that need them.
    this.soleAgentPromise ??= import('../workspace/load.js')
      .then(({ soleAgent }) => soleAgent(workspace))
      .catch(() => null);
    return this.soleAgentPromise;
  }

  /** The project that was named; null: nobody did. */
  get explicitProject(): string | null {
    return this.optionOrEnv(this.options.project, 'GENESIS_PROJECT');
  }

  /** The session that was named; null: nobody did. */
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

  /** The project whose workspace this is. */
  private async workspaceProject(): Promise<ProjectKey | null> {
    const workspace = Workspace.find(this.io.cwd);
    if (workspace === null) return null;
    const { readProjectKey } = await import('../workspace/project-file.js');
    // One without a name is found out by the commands that need it.
    return readProjectKey(workspace).catch(() => null);
  }

  /** The session of this agent at this terminal, or the one that was named. */
  async session(): Promise<string> {
    if (this.explicitSession !== null) return this.explicitSession;
    const agentId = await this.agent();
    return this.state.session(await this.target(), agentId, await this.terminal(agentId));
  }

  /** Who works alone goes on at any terminal. */
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
    // Loaded here alone: who works on a workspace's own files does not wait for it.
    const { Genesis } = await import('../client/index.js');
    return new Genesis({ ...target, ...(token === null ? {} : { token }), retry: RETRY_POLICY });
  }

  /** For what belongs to the whole tenant. */
  async genesisForTenant(): Promise<Genesis> {
    const { tenant, explicitProject } = this;
    const { url, token } = await this.server();
    return this.genesisAt({ url, tenant, project: explicitProject ?? 'default' }, token);
  }

  /** The token that was named; null: none was. */
  private get explicitToken(): string | null {
    return this.optionOrEnv(undefined, 'GENESIS_TOKEN');
  }

  /**
   * Where the server answers, and with which token. Where none was named, that of the workspace does, which may be this
   * command itself. One with a token of its own gets that and no other.
   */
  async server(): Promise<ServerAddress> {
    const workspace = this.explicitUrl === null ? Workspace.find(this.io.cwd) : null;
    if (workspace === null) return { url: this.url, token: this.explicitToken };
    this.commandServer ??= import('./workspace/command-server.js').then(({ startCommandServer: serveHere }) =>
      serveHere((text) => this.printNotice(text), workspace),
    );
    const { url, token } = await this.commandServer;
    return { url, token: token ?? this.explicitToken };
  }

  /** The command is done. */
  async close(): Promise<void> {
    await (await this.commandServer?.catch(() => null))?.stop();
  }

  print(text: string): void {
    this.io.stdout.write(`${text}\n`);
  }

  printJson(value: unknown): void {
    this.print(JSON.stringify(value));
  }

  /** The wire's own JSON, or the same for a person. */
  show<T>(reply: T, renderText: (reply: T) => string): void {
    if (this.is_json) this.printJson(reply);
    else this.print(renderText(reply));
  }

  /** Beside the output: nothing that reads the output sees it. */
  printNotice(text: string): void {
    this.io.stderr.write(`${text}\n`);
  }

  private optionOrEnv(given: string | undefined, variable: string): string | null {
    const value = given ?? this.io.env[variable];
    return value === undefined || value === '' ? null : value;
  }
}
