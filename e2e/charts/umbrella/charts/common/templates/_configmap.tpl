{{- define "common.labels" -}}
app.kubernetes.io/part-of: suite
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* A ConfigMap. Takes a dict: root (a chart's context), name, and data. */}}
{{- define "common.configmap" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .root.Release.Name }}-{{ .name }}
  labels:
    {{- include "common.labels" .root | nindent 4 }}
data:
  {{- toYaml .data | nindent 2 }}
{{- end -}}
