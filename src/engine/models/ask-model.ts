import type { LanguageModel } from 'ai';
import type { Cost } from '../../core/engine/check-outcome.js';
import type { ModelSettings } from '../../core/methodology/definition/engine-settings.js';
import type { AskModel, ModelPrompt } from '../constructors/constructor.js';
import { EngineError, engineError } from '../engine-error.js';
import { boundedFetch } from './bounded-fetch.js';
import { modelErrorOf } from './model-error.js';
import { credentialsOf, loadPackage, regionOf } from './providers.js';

/**
 * Opens a model. Each question is a new session: nothing of an earlier question is sent. The library does not retry,
 * because the machine of the run retries, by the name of the error.
 */
export async function openModel(
  settings: ModelSettings,
  env: NodeJS.ProcessEnv = process.env,
): Promise<AskModel> {
  const library = await loadPackage('ai', () => import('ai'));
  // The library prints warnings to stdout, where programs read the reply of a command.
  globalThis.AI_SDK_LOG_WARNINGS ??= false;
  const credentials = credentialsOf(settings, env);
  const model = await openProvider(settings, credentials, env);
  const secrets = Object.values(credentials);
  return async ({ system, prompt, signal }: ModelPrompt) => {
    const startMs = performance.now();
    const costOf = (inputTokens: number | undefined, outputTokens: number | undefined): Cost =>
      costOfTokens(settings, inputTokens ?? 0, outputTokens ?? 0, (performance.now() - startMs) / 1000);
    try {
      const answer = await library.generateText({
        model,
        system,
        prompt,
        maxRetries: 0,
        abortSignal: signal,
        ...(settings.max_output_tokens === undefined ? {} : { maxOutputTokens: settings.max_output_tokens }),
      });
      const cost = costOf(answer.usage.inputTokens, answer.usage.outputTokens);
      if (answer.finishReason !== 'stop') throw unfinishedError(settings, answer.finishReason, cost);
      return { text: answer.text, cost };
    } catch (error) {
      if (error instanceof EngineError) throw error;
      throw modelErrorOf(error, { signal, secrets, model: settings.model, cost: costOf(0, 0) });
    }
  };
}

async function openProvider(
  settings: ModelSettings,
  credentials: Readonly<Record<string, string>>,
  env: NodeJS.ProcessEnv,
): Promise<Exclude<LanguageModel, string>> {
  const { model, base_url } = settings;
  const sharedOptions = { fetch: boundedFetch, ...(base_url === undefined ? {} : { baseURL: base_url }) };
  switch (settings.provider) {
    case 'bedrock': {
      const { createAmazonBedrock } = await loadPackage(
        '@ai-sdk/amazon-bedrock',
        () => import('@ai-sdk/amazon-bedrock'),
      );
      return createAmazonBedrock({ ...sharedOptions, ...credentials, region: regionOf(settings, env) })(
        model,
      );
    }
    case 'anthropic': {
      const { createAnthropic } = await loadPackage('@ai-sdk/anthropic', () => import('@ai-sdk/anthropic'));
      return createAnthropic({ ...sharedOptions, ...credentials })(model);
    }
    case 'openai-compatible': {
      if (base_url === undefined) {
        throw engineError('failed', 'The provider openai-compatible needs base_url: add it to engine.yml.');
      }
      const { createOpenAICompatible } = await loadPackage(
        '@ai-sdk/openai-compatible',
        () => import('@ai-sdk/openai-compatible'),
      );
      return createOpenAICompatible({
        ...sharedOptions,
        ...credentials,
        name: 'openai-compatible',
        baseURL: base_url,
      })(model);
    }
  }
}

const PER_MILLION = 1_000_000;

/** `usd` is null unless both prices are known. */
function costOfTokens(
  settings: ModelSettings,
  inputTokens: number,
  outputTokens: number,
  seconds: number,
): Cost {
  const { usd_per_million_input_tokens: inputPrice, usd_per_million_output_tokens: outputPrice } = settings;
  const usd =
    inputPrice === undefined || outputPrice === undefined
      ? null
      : (inputTokens * inputPrice + outputTokens * outputPrice) / PER_MILLION;
  return { input_tokens: inputTokens, output_tokens: outputTokens, usd, seconds };
}

function unfinishedError(settings: ModelSettings, finishReason: string, cost: Cost): EngineError {
  const why =
    finishReason === 'length'
      ? 'its answer was cut off at the limit of output tokens; raise max_output_tokens or make the task smaller'
      : `it did not finish its answer (${finishReason})`;
  return engineError('malformed', `The model ${settings.model} gave no complete answer: ${why}.`, cost);
}
