import type { ModelSettings } from '../../../core/methodology/definition/engine-settings.js';

/** A server's answer as it is on the wire. */
export interface DocumentedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * How a provider answers, written by hand from its documentation: these are not recordings, which would need an account
 * of each provider. Sources: the API reference of Bedrock (Converse, and its errors), "Errors" and "Rate limits" of
 * Anthropic, "Error codes" and the chat completion object of OpenAI. The headers of Bedrock's errors are not documented:
 * they are from a log in issue 99 of aws-samples/amazon-bedrock-client-for-mac.
 */
export interface DocumentedProvider {
  readonly provider: ModelSettings['provider'];
  readonly model: string;
  /** The path to which clients send a question, after the base address. */
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  success(text: string): DocumentedAnswer;
  /** The model stopped at its limit of output tokens. */
  cutOff(text: string): DocumentedAnswer;
  readonly throttled: DocumentedAnswer;
  readonly overloaded: DocumentedAnswer;
  readonly malformed: DocumentedAnswer;
  /** The account's quota, credit or spend limit is used up: one answer for each way in which the provider reports it. */
  readonly budgetExhausted: readonly DocumentedAnswer[];
}

/** The token counts of each documented answer. */
const DOCUMENTED_USAGE = { input_tokens: 1200, output_tokens: 300 } as const;

const JSON_HEADERS = { 'content-type': 'application/json' };
const json = (status: number, body: unknown, headers: Record<string, string> = {}): DocumentedAnswer => ({
  status,
  headers: { ...JSON_HEADERS, ...headers },
  body: JSON.stringify(body),
});
const { input_tokens, output_tokens } = DOCUMENTED_USAGE;

const BEDROCK_REQUEST_ID = '0b9c3a5e-2c1f-4d1e-9a53-3f3f4c2b7a10';
const converseAnswer = (text: string, stopReason: string): DocumentedAnswer =>
  json(
    200,
    {
      metrics: { latencyMs: 1275 },
      output: { message: { content: [{ text }], role: 'assistant' } },
      stopReason,
      usage: {
        inputTokens: input_tokens,
        outputTokens: output_tokens,
        totalTokens: input_tokens + output_tokens,
      },
    },
    { 'x-amzn-requestid': BEDROCK_REQUEST_ID },
  );
const bedrockError = (status: number, type: string, message: string): DocumentedAnswer =>
  json(
    status,
    { message },
    {
      'x-amzn-errortype': `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`,
      'x-amzn-requestid': BEDROCK_REQUEST_ID,
    },
  );
export const DOCUMENTED_BEDROCK: DocumentedProvider = {
  provider: 'bedrock',
  model: 'anthropic.claude-sonnet-4-5-20250929-v1:0',
  path: '/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse',
  env: {
    AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
    AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    AWS_REGION: 'us-east-1',
  },
  success: (text) => converseAnswer(text, 'end_turn'),
  cutOff: (text) => converseAnswer(text, 'max_tokens'),
  throttled: bedrockError(429, 'ThrottlingException', 'Too many requests, please wait before trying again.'),
  overloaded: bedrockError(503, 'ServiceUnavailableException', 'Bedrock is unable to process your request.'),
  malformed: json(200, { output: { message: null }, stopReason: 'end_turn' }),
  budgetExhausted: [
    bedrockError(429, 'ThrottlingException', 'Too many tokens per day, please wait before trying again.'),
    bedrockError(
      400,
      'ServiceQuotaExceededException',
      'Your request exceeds the service quota for your account.',
    ),
  ],
};
export const BEDROCK_MODEL_NOT_READY = bedrockError(
  429,
  'ModelNotReadyException',
  'The model specified in the request is not ready to serve inference requests.',
);

const ANTHROPIC_REQUEST_ID = 'req_018EeWyXxfu5pfWkrYcMdjWG';
const messageAnswer = (text: string, stop_reason: string): DocumentedAnswer =>
  json(
    200,
    {
      id: 'msg_013Zva2CMHLNnXjNJJKqJ2EF',
      type: 'message',
      role: 'assistant',
      model: 'claude-sonnet-4-5-20250929',
      content: [{ type: 'text', text }],
      stop_reason,
      stop_sequence: null,
      usage: {
        input_tokens,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens,
        service_tier: 'standard',
      },
    },
    { 'request-id': ANTHROPIC_REQUEST_ID },
  );
const anthropicError = (status: number, type: string, text: string, headers = {}): DocumentedAnswer =>
  json(
    status,
    { type: 'error', error: { type, message: text }, request_id: ANTHROPIC_REQUEST_ID },
    { 'request-id': ANTHROPIC_REQUEST_ID, ...headers },
  );
export const DOCUMENTED_ANTHROPIC: DocumentedProvider = {
  provider: 'anthropic',
  model: 'claude-sonnet-4-5-20250929',
  path: '/messages',
  env: { ANTHROPIC_API_KEY: 'sk-ant-api03-documented-example-key' },
  success: (text) => messageAnswer(text, 'end_turn'),
  cutOff: (text) => messageAnswer(text, 'max_tokens'),
  throttled: anthropicError(
    429,
    'rate_limit_error',
    "This request would exceed your organization's rate limit of 50,000 input tokens per minute.",
    { 'retry-after': '11' },
  ),
  overloaded: anthropicError(529, 'overloaded_error', 'Overloaded'),
  malformed: { status: 200, headers: JSON_HEADERS, body: '{"id":"msg_013Zva2CMHLNnXjN' },
  budgetExhausted: [
    anthropicError(
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    ),
    anthropicError(
      400,
      'invalid_request_error',
      'You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.',
    ),
    anthropicError(402, 'billing_error', 'There is an issue with your billing or payment information.'),
    // The monthly cap of the usage tier has the type of throttling, without retry-after.
    json(429, {
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: 'Your organization has reached the monthly spend cap of its usage tier.',
        details: { error_code: 'enforced_spend_limit_reached' },
      },
      request_id: ANTHROPIC_REQUEST_ID,
    }),
  ],
};

const completionAnswer = (text: string, finish_reason: string): DocumentedAnswer =>
  json(200, {
    id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
    object: 'chat.completion',
    created: 1741569952,
    model: 'gpt-4.1-2025-04-14',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: text, refusal: null, annotations: [] },
        logprobs: null,
        finish_reason,
      },
    ],
    usage: {
      prompt_tokens: input_tokens,
      completion_tokens: output_tokens,
      total_tokens: input_tokens + output_tokens,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0 },
    },
    service_tier: 'default',
  });
const openAiError = (
  status: number,
  type: string,
  code: string,
  text: string,
  headers = {},
): DocumentedAnswer => json(status, { error: { message: text, type, param: null, code } }, headers);
export const DOCUMENTED_OPENAI: DocumentedProvider = {
  provider: 'openai-compatible',
  model: 'gpt-4.1-2025-04-14',
  path: '/chat/completions',
  env: { OPENAI_API_KEY: 'sk-proj-documented-example-key' },
  success: (text) => completionAnswer(text, 'stop'),
  cutOff: (text) => completionAnswer(text, 'length'),
  throttled: openAiError(
    429,
    'tokens',
    'rate_limit_exceeded',
    'Rate limit reached for gpt-4.1 on tokens per min (TPM): Limit 30000, Used 29100, Requested 1500.',
    { 'retry-after': '2', 'x-ratelimit-limit-tokens': '30000', 'x-ratelimit-remaining-tokens': '900' },
  ),
  overloaded: openAiError(
    503,
    'service_unavailable_error',
    'server_is_overloaded',
    'The engine is currently overloaded, please try again later',
  ),
  malformed: { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>502 Bad Gateway</html>' },
  budgetExhausted: [
    openAiError(
      429,
      'insufficient_quota',
      'insufficient_quota',
      'You exceeded your current quota, please check your plan and billing details.',
    ),
  ],
};

export const DOCUMENTED_PROVIDERS = [DOCUMENTED_BEDROCK, DOCUMENTED_ANTHROPIC, DOCUMENTED_OPENAI] as const;
