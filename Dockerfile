# DPMC Lab. Build: docker build -t dpmc-lab . Run: see compose.yaml, or
#   docker run --read-only --tmpfs /tmp -v dpmc-data:/data -p 8501:8501 dpmc-lab
FROM python:3.11-slim

ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 HOME=/tmp PYTHONPATH=/app
WORKDIR /app
COPY requirements.lock .
COPY requirements/postgres.txt requirements/
# the PostgreSQL driver is for compose.yaml; SQLite needs none
RUN python -m pip install -r requirements.lock -r requirements/postgres.txt && (python -m compileall -q /usr/local/lib/python3.11/site-packages >/dev/null || true)
COPY . .
RUN python -m compileall -q app.py pages dpmc_core && useradd --system --uid 10001 --no-create-home dpmc && mkdir /data && chown dpmc /data
USER 10001
# datasets that are fetched, and the run store unless it is a database elsewhere; nothing else is written
ENV DPMC_DATA_DIR=/data/downloads DPMC_STORE=/data/runs.sqlite
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/ready', timeout=4)"]
CMD ["python", "-m", "streamlit", "run", "app.py", "--server.address=0.0.0.0", "--server.port=8501"]
