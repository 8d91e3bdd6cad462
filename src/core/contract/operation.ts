import { z } from 'zod';
import { projectIdSchema } from '../ids.js';

/**
 * Permissions: each operation requires one, and the server decides which roles have it. `tell`: to append an event of the
 * methodology. `attest`: to record the signed evidence of a runner.
 */
export const ACTIONS = [
  'public',
  'read',
  'work',
  'tell',
  'upload',
  'attest',
  'review',
  'operate',
  'administer',
] as const;
export type Action = (typeof ACTIONS)[number];

/**
 * - `json`: a command, validated by the coordinator, small unless `bytes_max` is set. With `is_document` it may be large
 *   and arrives as text, which a worker thread parses.
 * - `plan`: a plan in JSON or YAML, handled like a document.
 * - `form`: the fields of an HTML form.
 * - `bytes`: not parsed.
 */
export type RequestBody =
  | {
      readonly kind: 'json';
      readonly schema: z.ZodType;
      readonly bytes_max?: number;
      readonly is_document?: true;
    }
  | { readonly kind: 'plan'; readonly schema: z.ZodType }
  | { readonly kind: 'form'; readonly schema: z.ZodType }
  | { readonly kind: 'bytes' };

/** The schema of a JSON reply; for every other reply, its content type. */
export type ReplySchema = z.ZodType | { readonly content_type: string };

/** One call of the HTTP API. The server's routes, the API description and the reference are made from it. */
interface ApiOperation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `{param}`s. `{tenant_id}` is the tenant the request is about. */
  readonly path: string;
  /** The path names no tenant: the request is about the tenant of the caller. */
  readonly tenant?: 'own';
  readonly action: Action;
  readonly summary: string;
  readonly query?: z.ZodType<Record<string, unknown>>;
  readonly body?: RequestBody;
  readonly reply: ReplySchema;
  /** The rules may refuse the operation. The code of the refusal then determines the status of the reply. */
  readonly isRefusable?: true;
  /** The credential is a signed token in the request, so the request may come from a page of any origin. */
  readonly hasOwnToken?: true;
}

/** An operation and its id. */
export interface IdentifiedOperation extends ApiOperation {
  readonly id: string;
}

export type ApiOperations = Readonly<Record<string, ApiOperation>>;

export const TENANT_PATH = '/api/tenants/{tenant_id}';
export const PROJECT_PATH = `${TENANT_PATH}/projects/{project_id}` as const;

/** A call that reads, and changes nothing. */
export const readOperation = <Path extends string, Shape extends Pick<ApiOperation, 'query' | 'reply'>>(
  path: Path,
  summary: string,
  shape: Shape,
) => ({ method: 'GET', path, action: 'read', summary, ...shape }) as const;

/** A call whose command is entirely in its body, and that the rules may refuse. */
export const commandOperation = <Body extends z.ZodType, Reply extends z.ZodType>(
  path: string,
  summary: string,
  body: Body,
  reply: Reply,
) =>
  ({
    method: 'POST',
    path,
    action: 'work',
    summary,
    body: jsonBody(body),
    reply,
    isRefusable: true,
  }) as const;

export const jsonBody = <S extends z.ZodType>(schema: S) => ({ kind: 'json', schema }) as const;

const projectField = { project_id: projectIdSchema };

/** Adds the field `project_id` to a body or query, for an operation whose path does not name the project. */
export const withProject = <Shape extends z.core.$ZodShape>({ shape }: z.ZodObject<Shape>) =>
  z.strictObject({ ...projectField, ...shape });
