import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { CallFailure } from './api/call.js';
import { App } from './app.js';
import { applyTheme, readTheme } from './components/theme.js';
import './styles/base.css';

const RETRIES_MAX = 2;

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 60_000,
      refetchOnWindowFocus: false,
      // Only requests without a response are repeated. A request that was refused would be refused again.
      retry: (count, error) => count < RETRIES_MAX && error instanceof CallFailure && error.status === 0,
    },
  },
});

applyTheme(readTheme());
createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <App />
    </QueryClientProvider>
  </StrictMode>,
);
