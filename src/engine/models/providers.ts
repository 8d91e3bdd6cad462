import type { ModelSettings } from '../../core/methodology/definition/engine-settings.js';
import { engineError } from '../engine-error.js';

/** Loads an optional package. The error for a missing package says how to install it. */
export async function loadPackage<Loaded>(name: string, load: () => Promise<Loaded>): Promise<Loaded> {
  try {
    return await load();
  } catch (error) {
    const isMissing =
      error instanceof Error && (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
    if (!isMissing) throw error;
    throw engineError(
      'failed',
      `The engine is configured to use a model, but the package ${name} is not installed. Run: npm install ${name}`,
    );
  }
}

/**
 * The credentials for the provider, under the names of its options. They come from the environment only, so that no
 * configuration file contains a key.
 */
export function credentialsOf(
  settings: ModelSettings,
  env: NodeJS.ProcessEnv,
): Readonly<Record<string, string>> {
  switch (settings.provider) {
    case 'bedrock':
      return bedrockCredentials(env);
    case 'anthropic': {
      if (hasText(env.ANTHROPIC_API_KEY)) return { apiKey: env.ANTHROPIC_API_KEY };
      if (hasText(env.ANTHROPIC_AUTH_TOKEN)) return { authToken: env.ANTHROPIC_AUTH_TOKEN };
      throw missingKeyError('ANTHROPIC_API_KEY', 'anthropic');
    }
    case 'openai-compatible':
      // A server on this machine often has no keys.
      return hasText(env.OPENAI_API_KEY) ? { apiKey: env.OPENAI_API_KEY } : {};
  }
}

function bedrockCredentials(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> {
  if (hasText(env.AWS_BEARER_TOKEN_BEDROCK)) return { apiKey: env.AWS_BEARER_TOKEN_BEDROCK };
  if (!hasText(env.AWS_ACCESS_KEY_ID)) throw missingKeyError('AWS_ACCESS_KEY_ID', 'bedrock');
  if (!hasText(env.AWS_SECRET_ACCESS_KEY)) throw missingKeyError('AWS_SECRET_ACCESS_KEY', 'bedrock');
  return {
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    ...(hasText(env.AWS_SESSION_TOKEN) ? { sessionToken: env.AWS_SESSION_TOKEN } : {}),
  };
}

/** The AWS region of Bedrock. */
export function regionOf({ region }: ModelSettings, env: NodeJS.ProcessEnv): string {
  if (region !== undefined) return region;
  if (hasText(env.AWS_REGION)) return env.AWS_REGION;
  throw engineError('failed', 'Bedrock needs a region: set region in engine.yml, or AWS_REGION.');
}

const hasText = (value: string | undefined): value is string => value !== undefined && value.trim() !== '';

const missingKeyError = (variable: string, provider: string) =>
  engineError('failed', `The provider ${provider} needs a key: set ${variable} in the environment.`);
