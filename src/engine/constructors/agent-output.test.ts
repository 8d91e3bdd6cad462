import { expect, it } from 'vitest';
import { readAgentOutput } from './agent-output.js';

const jsonLines = (...objects: unknown[]): string =>
  objects.map((object) => JSON.stringify(object)).join('\n');

const CLAUDE_RESULT = {
  type: 'result',
  subtype: 'success',
  is_error: false,
  duration_ms: 5210,
  num_turns: 3,
  result: 'Wrote the module.',
  session_id: '1f0c3a52-8d7e-4c55-9b1a-0e4f5c1b2a3d',
  total_cost_usd: 0.0421,
  usage: {
    input_tokens: 12,
    cache_creation_input_tokens: 4000,
    cache_read_input_tokens: 15_000,
    output_tokens: 640,
  },
};

it('reads message, session, tokens and money of Claude Code', () => {
  const expected = {
    message: 'Wrote the module.',
    session: CLAUDE_RESULT.session_id,
    cost: { input_tokens: 19_012, output_tokens: 640, usd: 0.0421 },
    is_error: false,
  };
  expect(readAgentOutput(JSON.stringify(CLAUDE_RESULT))).toEqual(expected);
  const stream = jsonLines({ type: 'system', subtype: 'init' }, { type: 'assistant' }, CLAUDE_RESULT);
  expect(readAgentOutput(`a warning\n${stream}\n`)).toEqual(expected);
  expect(readAgentOutput(JSON.stringify([{ type: 'system' }, CLAUDE_RESULT]))).toEqual(expected);
});

it('reads the events of Codex', () => {
  const stream = jsonLines(
    { type: 'thread.started', thread_id: '0199a213-81c0-7800-8aa1-bbab2a035a53' },
    { type: 'turn.started' },
    { type: 'item.completed', item: { id: 'item_3', type: 'agent_message', text: 'Done.' } },
    {
      type: 'turn.completed',
      usage: { input_tokens: 24_763, cached_input_tokens: 24_448, output_tokens: 122 },
    },
  );
  expect(readAgentOutput(stream)).toEqual({
    message: 'Done.',
    session: '0199a213-81c0-7800-8aa1-bbab2a035a53',
    cost: { input_tokens: 24_763, output_tokens: 122, usd: null },
    is_error: false,
  });
});

it('reports the last token count of older versions of Codex', () => {
  const count = (input_tokens: number, output_tokens: number) => ({
    id: '0',
    msg: { type: 'token_count', info: { total_token_usage: { input_tokens, output_tokens } } },
  });
  const stream = jsonLines(
    count(10, 1),
    { id: '0', msg: { type: 'agent_message', message: 'Hi' } },
    count(30, 5),
  );
  expect(readAgentOutput(stream)).toMatchObject({
    message: 'Hi',
    cost: { input_tokens: 30, output_tokens: 5, usd: null },
  });
});

it('adds up the models of Gemini, whose output has several lines', () => {
  const output = {
    response: 'Finished.',
    stats: {
      models: {
        'gemini-2.5-pro': { tokens: { prompt: 100, candidates: 20, total: 130, thoughts: 10, tool: 0 } },
        'gemini-2.5-flash': { tokens: { prompt: 50, candidates: 5, total: 55, thoughts: 0, tool: 7 } },
      },
    },
  };
  expect(readAgentOutput(`Loaded cached credentials.\n${JSON.stringify(output, null, 2)}\n`)).toEqual({
    message: 'Finished.',
    session: null,
    cost: { input_tokens: 157, output_tokens: 35, usd: null },
    is_error: false,
  });
});

it.each([
  'Done.',
  '',
  '{"total_cost_usd":"1"}',
  '{broken',
  '[1,null,"x"]',
  '{"stats":{"models":{"m":null}}}',
])('reports no cost for the output %j', (text) => {
  const { message, session, cost, is_error } = readAgentOutput(text);
  expect({ message, session, cost, is_error }).toEqual({
    message: text,
    session: null,
    cost: { input_tokens: 0, output_tokens: 0, usd: null },
    is_error: false,
  });
});

it('ignores negative and broken numbers, and a session that is not an id', () => {
  const output = {
    ...CLAUDE_RESULT,
    total_cost_usd: -5,
    usage: { input_tokens: -1, output_tokens: 1.5 },
    session_id: 'a\nb',
  };
  expect(readAgentOutput(JSON.stringify(output))).toMatchObject({
    session: null,
    cost: { input_tokens: 0, output_tokens: 0, usd: null },
  });
});
