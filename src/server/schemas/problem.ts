import { z } from 'zod';
import { PROBLEM_CODES } from '../../coordinator/wire/problem.js';
import type { ProblemDocument } from '../response.js';
import { HTTP_PROBLEM_CODES } from '../status.js';
import { registerSchema } from './common.js';

export const problemSchema = registerSchema<ProblemDocument>()(
  'Problem',
  z.object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    code: z.enum([...PROBLEM_CODES, ...HTTP_PROBLEM_CODES]),
    detail: z.string().describe('what happened and what to do next'),
    faults: z
      .array(
        z.object({
          code: z.string().exactOptional(),
          file: z.string().exactOptional(),
          path: z.string(),
          message: z.string(),
          line: z.number().int().exactOptional(),
          column: z.number().int().exactOptional(),
        }),
      )
      .exactOptional(),
    request_id: z.string().exactOptional(),
  }),
);
