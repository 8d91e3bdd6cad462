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
async function open(provider: DocumentedProvider, answers: readonly (DocumentedAnswer | 'silence')[]) {
  endpoint = await openModelEndpoint(provider, answers);
  const askModel = await openModel(endpoint.settings, provider.env);
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

describe.each(DOCUMENTED_PROVIDERS)('the client of $provider', (provider) => {
  it('returns the answer with its tokens and its cost', async () => {
    const { endpoint, ask } = await open(provider, [provider.success('{"well":true}')]);
    const { text, cost } = await ask();
    expect(text).toBe('{"well":true}');
    expect(cost).toMatchObject({ input_tokens: 1200, output_tokens: 300 });
    // 1200 tokens at 3 dollars and 300 at 15 dollars a million.
    expect(cost.usd).toBeCloseTo(0.0081, 10);
    expect(endpoint.received).toHaveLength(1);
    expect(endpoint.received[0]?.path).toBe(provider.path);
    expect(endpoint.received[0]?.body).toContain('How are you?');
    expect(endpoint.received[0]?.body).toContain('Answer with JSON.');
  });

  it('reports throttling without a retry of its own, and can be asked again', async () => {
    const { endpoint, ask } = await open(provider, [provider.throttled, provider.success('again')]);
    expect((await errorOf(ask())).name).toBe('Engine.Throttled');
    expect(endpoint.received).toHaveLength(1);
    expect((await ask()).text).toBe('again');
  });

  it('reports an overloaded server', async () => {
    const { endpoint, ask } = await open(provider, [provider.overloaded]);
    expect((await errorOf(ask())).name).toBe('Engine.Overloaded');
    expect(endpoint.received).toHaveLength(1);
  });

  it('reports an answer that is not in the format of the provider', async () => {
    const { ask } = await open(provider, [provider.malformed]);
    expect((await errorOf(ask())).name).toBe('Engine.Malformed');
  });

  it('reports an answer that was cut off, with what it has cost', async () => {
    const { ask } = await open(provider, [provider.cutOff('{"half":')]);
    const error = await errorOf(ask());
    expect(error.name).toBe('Engine.Malformed');
    expect(error.cost).toMatchObject({ input_tokens: 1200, output_tokens: 300 });
  });

  it('reports an exhausted budget of the account as a spent budget, not as throttling', async () => {
    const { endpoint, ask } = await open(provider, provider.budgetExhausted);
    for (const _ of provider.budgetExhausted) expect((await errorOf(ask())).name).toBe('Engine.BudgetSpent');
    expect(endpoint.received).toHaveLength(provider.budgetExhausted.length);
  });

  it('stops waiting when the time limit is reached', async () => {
    const { ask } = await open(provider, ['silence']);
    expect((await errorOf(ask(AbortSignal.timeout(50)))).name).toBe('Engine.Timeout');
  });

  it('reports a server that cannot be reached', async () => {
    const { endpoint, ask } = await open(provider, []);
    await endpoint.close();
    expect((await errorOf(ask())).name).toBe('Engine.Unavailable');
  });

  it('removes a key that the server repeats', async () => {
    const key = Object.values(provider.env)[0] ?? '';
    const message = `wrong key ${key}`;
    // Valid in the formats of all three providers.
    const body = JSON.stringify({ type: 'error', message, error: { type: 'authentication_error', message } });
    const { ask } = await open(provider, [{ status: 401, body }]);
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
  const claimLostError = engineError('claimLost', 'another executor has the edge');
  expect(await errorOf(ask(AbortSignal.abort(claimLostError)))).toBe(claimLostError);
});

it('sends no key to a server that the configured one redirects to', async () => {
  const redirectTarget = await openModelEndpoint(DOCUMENTED_ANTHROPIC, [
    DOCUMENTED_ANTHROPIC.success('stolen'),
  ]);
  const location = `${redirectTarget.settings.base_url}/messages`;
  const { ask } = await open(DOCUMENTED_ANTHROPIC, [{ status: 307, headers: { location }, body: '' }]);
  try {
    await expect(ask()).rejects.toThrow(EngineError);
    expect(redirectTarget.received).toEqual([]);
  } finally {
    await redirectTarget.close();
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
  const anthropicSettings = { provider: 'anthropic', model: 'claude-sonnet-4-5' } as const;
  await expect(openModel(anthropicSettings, {})).rejects.toThrow('ANTHROPIC_API_KEY');
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
