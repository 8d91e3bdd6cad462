import { nodeAt } from './json-edit.js';

/** How a client starts or reaches an MCP server, as its configuration says. */
export interface ConfiguredServer {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The server of that name in a client's configuration, in JSON or TOML; null if there is no such server. */
export function configuredServer(path: string, text: string, name: string): ConfiguredServer | null {
  return path.endsWith('.toml') ? fromToml(text, name) : fromJson(text, name);
}

function fromJson(text: string, name: string): ConfiguredServer | null {
  const value = nodeAt(text, ['mcpServers', name])?.value;
  if (typeof value !== 'object' || value === null) return null;
  const { httpUrl, ...server } = value as ConfiguredServer & { httpUrl?: string };
  return { ...server, ...(httpUrl === undefined ? {} : { url: httpUrl }) };
}

/** Reads `command`, `args`, `cwd` and `url` of one table: strings and lists of strings, which TOML writes as JSON does. */
function fromToml(text: string, name: string): ConfiguredServer | null {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const start = lines.indexOf(`[mcp_servers.${name}]`);
  if (start === -1) return null;
  const server: Record<string, unknown> = {};
  for (const line of lines.slice(start + 1)) {
    if (line.startsWith('[')) break;
    const [, key, value] = /^(command|args|cwd|url) = (["[].*)$/.exec(line) ?? [];
    if (key !== undefined) server[key] = JSON.parse(value ?? '');
  }
  return server;
}
