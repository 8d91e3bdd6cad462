import { z } from 'zod';
import type { Reply, Route } from './route.js';
import { named } from './schemas/describe.js';
import { problemDocument } from './schemas/problem.js';

type Json = Record<string, unknown>;

const JSON_TYPE = 'application/json';
const PROBLEM_TYPE = 'application/problem+json';
/** The statuses of a refusal that was decided, beside 409 which is the rule. */
const REFUSAL_STATUSES = ['404', '409', '413', '429'];
const HEADERS: Readonly<Record<string, Json>> = {
  put_plan: header('If-Match', 'the ETag of the plan that this one replaces'),
  events_stream: header('Last-Event-ID', 'the id of the last event that was received'),
};

/** Describes the table of routes as OpenAPI 3.1. Made once, from the schemas that validate and render. */
export function openApiOf(routes: readonly Route[]): Json {
  const shapes = new Shapes();
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(route, shapes) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Genesis Fleet',
      version: '1',
      description: 'The coordinator for fleets of AI agents.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas: shapes.components,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
    },
  };
}

function operation(route: Route, shapes: Shapes): Json {
  const isOpen = route.action === 'public';
  return {
    operationId: route.id,
    summary: route.summary,
    security: isOpen ? [] : [{ bearer: [] }, {}],
    'x-action': route.action,
    parameters: [...pathParameters(route), ...queryParameters(route, shapes), ...headerParameters(route)],
    ...(route.body === undefined ? {} : { requestBody: requestBody(route.body, shapes) }),
    responses: responses(route, shapes),
  };
}

const pathParameters = ({ path }: Route): Json[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));

function queryParameters({ query }: Route, shapes: Shapes): Json[] {
  if (query === undefined) return [];
  const { properties = {} } = shapes.inline(query, 'input') as { properties?: Record<string, Json> };
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
}

const headerParameters = ({ id }: Route): Json[] => (HEADERS[id] === undefined ? [] : [HEADERS[id]]);

function header(name: string, description: string): Json {
  return { name, in: 'header', description, schema: { type: 'string' } };
}

function requestBody(body: NonNullable<Route['body']>, shapes: Shapes): Json {
  if (body.kind === 'bytes') {
    return { required: true, content: { 'application/octet-stream': { schema: {} } } };
  }
  const schema = shapes.inline(body.schema, 'input');
  const yaml = { 'application/yaml': { schema: { type: 'string' } } };
  return {
    required: true,
    content: { [JSON_TYPE]: { schema }, ...(body.kind === 'plan' ? yaml : {}) },
  };
}

function responses({ id, reply, decides }: Route, shapes: Shapes): Json {
  const content = contentOf(reply, shapes);
  const problem = { [PROBLEM_TYPE]: { schema: shapes.inline(problemDocument, 'output') } };
  const refused = decides
    ? REFUSAL_STATUSES.map((status) => [status, said('Refused', { ...content, ...problem })])
    : [];
  return {
    200: said('As asked', content),
    ...(id === 'submit_result' ? { 202: said('A human must decide on it first', content) } : {}),
    ...Object.fromEntries(refused),
    default: said('What is wrong with the request, or with the server', problem),
  };
}

const said = (description: string, content: Json): Json => ({ description, content });

function contentOf(reply: Reply, shapes: Shapes): Json {
  if ('content_type' in reply) return { [reply.content_type]: { schema: { type: 'string' } } };
  return { [JSON_TYPE]: { schema: shapes.inline(reply, 'output') } };
}

/** Schemas as JSON Schema; those with a name are said once, and referred to. */
class Shapes {
  readonly components: Json = {};

  inline(schema: z.ZodType, io: 'input' | 'output'): Json {
    // Wrapped, so that a schema with a name is referred to even when it stands alone.
    const wrapped = z.toJSONSchema(z.object({ it: schema }), { io, metadata: named, unrepresentable: 'any' });
    const { $defs = {}, properties = {} } = renamed(wrapped) as { $defs?: Json; properties?: Json };
    for (const [id, shape] of Object.entries($defs)) this.components[id] = withoutId(shape as Json);
    return properties.it as Json;
  }
}

const renamed = (schema: object): unknown =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));

const withoutId = ({ $id: _, id: __, ...shape }: Json): Json => shape;
