import { useQuery } from '@tanstack/react-query';
import { type CallInput, call, type OperationId, type Reply } from './call.js';

/** The reply of a read. It is read again when something has happened in the project. */
export const useReply = <Id extends OperationId>(id: Id, input: CallInput = {}, enabled = true) =>
  useQuery<Reply<Id>>({ queryKey: [id, input], queryFn: () => call(id, input), enabled });

/** The reply of a read of the past. It cannot change, so it is read once. */
export const useFixedReply = <Id extends OperationId>(id: Id, input: CallInput) =>
  useQuery<Reply<Id>>({
    queryKey: [id, input, 'fixed'],
    queryFn: () => call(id, input),
    meta: { isFixed: true },
    staleTime: Number.POSITIVE_INFINITY,
  });
