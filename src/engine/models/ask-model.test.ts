import { afterEach, describe, expect, it } from 'vitest';
import { EngineError, engineError } from '../engine-error.js';
import { openModel } from './ask-model.js';
import { loadPackage } from './providers.js';
import {
  BEDROCK_MODEL_NOT_READY,
  DOCUMENTED_ANTHROPIC,
  DOCUMENTED_BEDROCK,
  DOCUMENTED_OPENAI,
  DOCUMENTED_PROVIDERS,
  type DocumentedAnswer,
  type DocumentedProvider,
} from './testing/documented-exchanges.js';
import { type ModelEndpoint, openModelEndpoint } from './testing/model-endpoint.js';

let endpoint: ModelEndpoint | null = null;
afterEach(async () => {
  await endpoint?.close();
  endpoint = null;
});

const question = { system: 'Answer with JSON.', prompt: 'How are you?' };
async function open(documented: DocumentedProvider, answers: readonly (DocumentedAnswer | 'silence')[]) {
  endpoint = await openModelEndpoint(documented, answers);
  const askModel = await openModel(endpoint.settings, documented.env);
  const ask = (signal = new AbortController().signal) => askModel({ ...question, signal });
  return { endpoint, ask };
}
const errorOf = async (reply: Promise<unknown>): Promise<EngineError> => {
  const error = await reply.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof EngineError) return error;
  throw new Error(`expected an EngineError, got ${String(error)}`);
};

describe.each(DOCUMENTED_PROVIDERS)('the client of $provider', (documented) => {
  it('returns the answer with its tokens and its cost', async () => {
    const { endpoint, ask } = await open(documented, [documented.success('{"well":true}')]);
    const { text, cost } = await ask();
    expect(text).toBe('{"well":true}');
    expect(cost).toMatchObject({ input_tokens: 1200, output_tokens: 300 });
    // 1200 tokens at 3 dollars and 300 at 15 dollars a million.
    expect(cost.usd).toBeCloseTo(0.0081, 10);
    expect(endpoint.received).toHaveLength(1);
    expect(endpoint.received[0]?.path).toBe(documented.path);
    expect(endpoint.received[0]?.body).toContain('How are you?');
    expect(endpoint.received[0]?.body).toContain('Answer with JSON.');
  });

  it('is throttled once, without a retry of its own, and answers when it is asked again', async () => {
    const { endpoint, ask } = await open(documented, [documented.throttled, documented.success('again')]);
    expect((await errorOf(ask())).name).toBe('Engine.Throttled');
    expect(endpoint.received).toHaveLength(1);
    expect((await ask()).text).toBe('again');
  });

  it('reports an overloaded server', async () => {
    const { endpoint, ask } = await open(documented, [documented.overloaded]);
    expect((await errorOf(ask())).name).toBe('Engine.Overloaded');
    expect(endpoint.received).toHaveLength(1);
  });

  it('reports an answer that is not in the format of the provider', async () => {
    const { ask } = await open(documented, [documented.malformed]);
    expect((await errorOf(ask())).name).toBe('Engine.Malformed');
  });

  it('reports an answer that was cut off, with what it has cost', async () => {
    const { ask } = await open(documented, [documented.cutOff('{"half":')]);
    const error = await errorOf(ask());
    expect(error.name).toBe('Engine.Malformed');
    expect(error.cost).toMatchObject({ input_tokens: 1200, output_tokens: 300 });
  });

  it('reports an exhausted budget of the account as that, not as throttling', async () => {
    const { endpoint, ask } = await open(documented, documented.budgetExhausted);
    for (const _ of documented.budgetExhausted)
      expect((await errorOf(ask())).name).toBe('Engine.BudgetSpent');
    expect(endpoint.received).toHaveLength(documented.budgetExhausted.length);
  });

  it('stops waiting when the time limit is reached', async () => {
    const { ask } = await open(documented, ['silence']);
    expect((await errorOf(ask(AbortSignal.timeout(50)))).name).toBe('Engine.Timeout');
  });

  it('reports a server that cannot be reached', async () => {
    const { endpoint, ask } = await open(documented, []);
    await endpoint.close();
    expect((await errorOf(ask())).name).toBe('Engine.Unavailable');
  });

  it('removes a key that the server repeats', async () => {
    const key = Object.values(documented.env)[0] ?? '';
    const message = `wrong key ${key}`;
    // Valid in the formats of all three.
    const body = JSON.stringify({ type: 'error', message, error: { type: 'authentication_error', message } });
    const { ask } = await open(documented, [{ status: 401, body }]);
    const error = await errorOf(ask());
    expect(error.name).toBe('Engine.Failed');
    expect(error.message).toContain('wrong key [key]');
    expect(JSON.stringify([error.message, error.cost, error])).not.toContain(key);
  });
});

it('treats a model of Bedrock that is not ready like throttling, so that it is asked again', async () => {
  const { ask } = await open(DOCUMENTED_BEDROCK, [BEDROCK_MODEL_NOT_READY]);
  expect((await errorOf(ask())).name).toBe('Engine.Throttled');
});

it('a stopped call ends with the error that the engine stopped it with', async () => {
  const { ask } = await open(DOCUMENTED_OPENAI, ['silence']);
  const lost = engineError('claimLost', 'another executor has the edge');
  expect(await errorOf(ask(AbortSignal.abort(lost)))).toBe(lost);
});

it('sends no key to a server that the configured one redirects to', async () => {
  const other = await openModelEndpoint(DOCUMENTED_ANTHROPIC, [DOCUMENTED_ANTHROPIC.success('stolen')]);
  const location = `${other.settings.base_url}/messages`;
  const { ask } = await open(DOCUMENTED_ANTHROPIC, [{ status: 307, headers: { location }, body: '' }]);
  try {
    await expect(ask()).rejects.toThrow(EngineError);
    expect(other.received).toEqual([]);
  } finally {
    await other.close();
  }
});

it('the cost of a call is unknown without prices', async () => {
  endpoint = await openModelEndpoint(DOCUMENTED_OPENAI, [DOCUMENTED_OPENAI.success('fine')]);
  const { usd_per_million_input_tokens: _, ...settings } = endpoint.settings;
  const ask = await openModel(settings, DOCUMENTED_OPENAI.env);
  const { cost } = await ask({ ...question, signal: new AbortController().signal });
  expect(cost).toMatchObject({ input_tokens: 1200, usd: null });
});

it('signs requests to Bedrock', async () => {
  const { endpoint, ask } = await open(DOCUMENTED_BEDROCK, [DOCUMENTED_BEDROCK.success('fine')]);
  await ask();
  expect(endpoint.received[0]?.headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE\/\d+\/us-east-1\/bedrock\/aws4_request/,
  );
});

it('names the variable of a missing key, and the setting of a missing address', async () => {
  const signIn = { provider: 'anthropic', model: 'claude-sonnet-4-5' } as const;
  await expect(openModel(signIn, {})).rejects.toThrow('ANTHROPIC_API_KEY');
  await expect(openModel({ provider: 'bedrock', model: 'm', region: 'eu-west-1' }, {})).rejects.toThrow(
    'AWS_ACCESS_KEY_ID',
  );
  await expect(openModel({ provider: 'openai-compatible', model: 'm' }, {})).rejects.toThrow('base_url');
});

it('names the package to install', async () => {
  const absent = '@ai-sdk/not-installed';
  const loading = loadPackage(absent, () => import(/* @vite-ignore */ absent));
  await expect(loading).rejects.toThrow('npm install @ai-sdk/not-installed');
});
