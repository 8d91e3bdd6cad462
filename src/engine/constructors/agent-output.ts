import type { Cost } from '../../core/engine/check-outcome.js';
import { isObject } from '../../core/events/plain-data.js';

/** What the output of a command-line agent tells about its work. */
export interface AgentOutput {
  /** The agent's last message; the whole output if its format is not known. */
  readonly message: string;
  /** Null if the output names no session. */
  readonly session: string | null;
  readonly cost: Omit<Cost, 'seconds'>;
  /** Whether the agent reports that it failed. */
  readonly is_error: boolean;
}

type AgentRecord = Readonly<Record<string, unknown>>;

/**
 * Reads the JSON output of `claude -p --output-format json`, `codex exec --json` and `gemini -p --output-format json`.
 * Anything else is a message without a known cost.
 */
export function readAgentOutput(stdout: string): AgentOutput {
  const objects = jsonObjects(stdout.trim());
  let output: AgentOutput = {
    message: stdout.trim(),
    session: null,
    cost: { input_tokens: 0, output_tokens: 0, usd: null },
    is_error: false,
  };
  for (const object of objects) {
    for (const read of [readClaude, readCodex, readGemini]) output = { ...output, ...read(object) };
  }
  return output;
}

/** The JSON objects in a text: the whole text, the lines that are objects, or a last object over several lines. */
function jsonObjects(text: string): readonly AgentRecord[] {
  const whole = parseJson(text);
  if (whole !== undefined) return (Array.isArray(whole) ? whole : [whole]).filter(isObject);
  const lines = text.split('\n');
  const fromLines = lines
    .filter((line) => line.startsWith('{'))
    .map(parseJson)
    .filter(isObject);
  const start = lines.lastIndexOf('{');
  const last = start < 0 ? undefined : parseJson(lines.slice(start).join('\n'));
  return isObject(last) ? [...fromLines, last] : fromLines;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The last line of Claude Code: `{"type":"result","result":…,"session_id":…,"total_cost_usd":…,"usage":{…}}`. */
function readClaude(object: AgentRecord): Partial<AgentOutput> {
  const { total_cost_usd, usage, result, session_id } = object;
  if (typeof total_cost_usd !== 'number') return {};
  const tokens = isObject(usage) ? usage : {};
  return {
    ...(typeof result === 'string' ? { message: result } : {}),
    ...sessionOf(session_id),
    is_error: object.is_error === true,
    cost: {
      input_tokens:
        countOf(tokens.input_tokens) +
        countOf(tokens.cache_creation_input_tokens) +
        countOf(tokens.cache_read_input_tokens),
      output_tokens: countOf(tokens.output_tokens),
      usd: Number.isFinite(total_cost_usd) && total_cost_usd >= 0 ? total_cost_usd : null,
    },
  };
}

/**
 * The events of Codex: `thread.started`, `item.completed`, `turn.completed`. Older versions wrap their events in `msg` and
 * report tokens in `token_count`. Both report the tokens of the whole thread so far.
 */
function readCodex(object: AgentRecord): Partial<AgentOutput> {
  const event = isObject(object.msg) ? object.msg : object;
  const { type, item, info } = event;
  if (type === 'thread.started') return sessionOf(event.thread_id);
  if (type === 'session_configured') return sessionOf(event.session_id);
  if (type === 'item.completed' && isObject(item) && item.type === 'agent_message')
    return messageOf(item.text);
  if (type === 'agent_message') return messageOf(event.message);
  if (type === 'turn.failed') return { is_error: true };
  const usage =
    type === 'turn.completed'
      ? event.usage
      : type === 'token_count' && isObject(info)
        ? info.total_token_usage
        : null;
  return isObject(usage) ? { cost: tokensOnly(usage.input_tokens, usage.output_tokens) } : {};
}

/** Gemini: `{"response":…,"stats":{"models":{NAME:{"tokens":{"prompt":…,"candidates":…,"thoughts":…}}}}}`. */
function readGemini(object: AgentRecord): Partial<AgentOutput> {
  const { stats, response, session_id, error } = object;
  if (!isObject(stats) || !isObject(stats.models)) return {};
  const tokens = Object.values(stats.models)
    .map((model) => (isObject(model) ? model.tokens : null))
    .filter(isObject);
  const sumOfField = (name: string): number =>
    tokens.reduce((total, counts) => total + countOf(counts[name]), 0);
  return {
    ...messageOf(response),
    ...sessionOf(session_id),
    is_error: isObject(error),
    cost: tokensOnly(
      sumOfField('prompt') + sumOfField('tool'),
      sumOfField('candidates') + sumOfField('thoughts'),
    ),
  };
}

const tokensOnly = (input: unknown, output: unknown): AgentOutput['cost'] => ({
  input_tokens: countOf(input),
  output_tokens: countOf(output),
  usd: null,
});
const countOf = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
const messageOf = (text: unknown): Partial<AgentOutput> =>
  typeof text === 'string' ? { message: text } : {};
const sessionOf = (id: unknown): Partial<AgentOutput> =>
  typeof id === 'string' && /^[\w.:-]{1,200}$/.test(id) ? { session: id } : {};
