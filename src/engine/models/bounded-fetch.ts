/** Maximum size of an answer, to bound the memory. No model gives a longer one. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Reads the answer up to a limit, and follows no redirect, because the headers of the request contain a key that only the
 * configured server may see.
 */
export const boundedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, { ...init, redirect: 'error' });
  if (response.body === null) return response;
  let bytes = 0;
  const boundedBody = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > ANSWER_BYTES_MAX) {
          controller.error(new RangeError(`the answer has more than ${ANSWER_BYTES_MAX} bytes`));
        } else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(boundedBody, { status, statusText, headers });
};
