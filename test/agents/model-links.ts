import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { inject, onTestFinished } from 'vitest';
import { withResultCounts } from '../../src/core/methodology/definition/convergence.js';
import { callTool, mcpClient } from '../support/mcp-client.js';
import type { ScriptedCall } from './scripted-model.js';

/** How a model reaches the coordinator. */
export interface ModelLink {
  readonly session_id: string;
  /** The reply, as the text that the model sees. */
  readonly call: (call: ScriptedCall) => Promise<string>;
  /** Ends the model: it makes no more calls. */
  readonly kill: () => void;
  readonly freeze: () => void;
  readonly thaw: () => void;
}

export interface LinkTarget {
  readonly url: string;
  /** The folder where the model works. */
  readonly cwd: string;
}

export const PROGRAM = join(inject('built'), 'dist/cli/main.js');

/** Connects a model through a `gen mcp` process of its own. */
export async function linkOverMcp({ url, cwd }: LinkTarget, name: string): Promise<ModelLink> {
  const env = {
    PATH: process.env.PATH ?? '',
    GENESIS_URL: url,
    GENESIS_PROJECT: 'shop',
    GENESIS_AGENT: name,
    GENESIS_SESSION: `session-${name}`,
    GENESIS_HOME: join(cwd, '.home'),
  };
  const transport = new StdioClientTransport({ command: process.execPath, args: [PROGRAM, 'mcp'], cwd, env });
  const client = await mcpClient(transport, '2025-11-25');
  const pid = transport.pid as number;
  const sendSignal = (signal: NodeJS.Signals) => void process.kill(pid, signal);
  let isKilled = false;
  // A frozen process does not end, so it is thawed at the end of the test.
  onTestFinished(() => {
    if (!isKilled) sendSignal('SIGCONT');
  });
  return {
    session_id: env.GENESIS_SESSION,
    async call({ tool, args, file }) {
      if (file !== undefined) {
        const path = join(cwd, file[0]);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, file[1]);
      }
      return JSON.stringify(await callTool(client, tool, args));
    },
    kill() {
      isKilled = true;
      sendSignal('SIGKILL');
    },
    freeze: () => sendSignal('SIGSTOP'),
    thaw: () => sendSignal('SIGCONT'),
  };
}

const PATHS = { next: '/next', submit: '/results' } as const;

/** Connects a model over plain HTTP. It knows only its session. A frozen or dead model just makes no calls. */
export async function linkOverHttp({ url }: LinkTarget, name: string): Promise<ModelLink> {
  const session_id = `session-${name}`;
  const projectUrl = `${url}/api/tenants/default/projects/shop`;
  return {
    session_id,
    async call({ tool, args }) {
      const { handle, ...fields } = args as {
        handle?: { task_id: string };
        evaluators?: { result: 'pass' }[];
      };
      const path =
        tool === 'note' ? `/tasks/${encodeURIComponent(handle?.task_id ?? '')}/notes` : PATHS[tool];
      const claimant = tool === 'next' ? { agent_id: session_id, session_id, resume: true } : {};
      const counted =
        fields.evaluators === undefined ? {} : { evaluators: withResultCounts(fields.evaluators) };
      const response = await fetch(`${projectUrl}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...claimant, ...handle, ...fields, ...counted }),
      });
      return response.text();
    },
    kill() {},
    freeze() {},
    thaw() {},
  };
}
